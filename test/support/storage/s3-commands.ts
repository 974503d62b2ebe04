/** Every command of `@aws-sdk/client-s3`, serialized by the SDK itself, with the required answer of this service. */

import * as sdk from '@aws-sdk/client-s3';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3Action } from '../../../workers/storage/s3/protocol/detect.ts';

type CommandInput = Readonly<Record<string, unknown>>;
type Command = Parameters<S3Client['send']>[0];

export interface S3Command {
  /** Name of the command, such as `GetObject`. */
  readonly name: string;
  create(input: CommandInput): Command;
}

export interface SerializedCommand {
  readonly method: string;
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: Headers;
}

/** All commands, read from the SDK. A command of a new SDK version fails the tests until it is listed below. */
export const COMMANDS: readonly S3Command[] = Object.entries(sdk)
  .filter(([name]) => /^[A-Z]\w+Command$/.test(name))
  .map(([name, value]) => {
    const Class = value as unknown as new (input: CommandInput) => Command;
    return { name: name.slice(0, -'Command'.length), create: (input: CommandInput) => new Class(input) };
  });

/** Makes input with every member that commands put into the path or the query. Commands ignore unknown members. */
export const toInput = (bucket: string, key: string): CommandInput => ({
  AnnotationName: 'n',
  Bucket: bucket,
  CopySource: `${bucket}/${key}`,
  Id: 'i',
  Key: key,
  PartNumber: 1,
  RenameSource: `/${bucket}/${key}`,
  RequestRoute: 'r',
  RequestToken: 't',
  UploadId: 'u',
});

/** Serializes a command without sending it. */
export async function serialize(command: Command): Promise<SerializedCommand> {
  const config: S3ClientConfig = { endpoint: 'http://localhost:1', region: 'us-east-1', forcePathStyle: true };
  const client = new S3Client({ ...config, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  let found: SerializedCommand | undefined;
  // Read the request with a middleware that runs right after the serializer, and stop there.
  client.middlewareStack.add(
    () => async (args) => {
      const { method, path, query, headers } = args.request as {
        method: string;
        path: string;
        query: Record<string, string>;
        headers: Record<string, string>;
      };
      found = { method, path, query: new Map(Object.entries(query)), headers: new Headers(headers) };
      throw new Error('serialized');
    },
    { step: 'build', priority: 'high', name: 'capture' },
  );
  const failure = await client.send(command).then(
    () => null,
    (error: unknown) => error,
  );
  if (!found) throw failure;
  return found;
}

/** Implemented commands, each with the action that the service must detect. */
export const IMPLEMENTED: Readonly<Record<string, S3Action>> = {
  AbortMultipartUpload: 'AbortMultipartUpload',
  CompleteMultipartUpload: 'CompleteMultipartUpload',
  CopyObject: 'CopyObject',
  CreateBucket: 'CreateBucket',
  CreateMultipartUpload: 'CreateMultipartUpload',
  DeleteBucket: 'DeleteBucket',
  DeleteBucketCors: 'DeleteBucketCors',
  DeleteBucketEncryption: 'DeleteBucketEncryption',
  DeleteBucketLifecycle: 'DeleteBucketLifecycle',
  DeleteBucketOwnershipControls: 'DeleteBucketOwnershipControls',
  DeleteBucketPolicy: 'DeleteBucketPolicy',
  DeleteBucketTagging: 'DeleteBucketTagging',
  DeleteBucketWebsite: 'DeleteBucketWebsite',
  DeleteObject: 'DeleteObject',
  DeleteObjectTagging: 'DeleteObjectTagging',
  DeleteObjects: 'DeleteObjects',
  DeletePublicAccessBlock: 'DeletePublicAccessBlock',
  GetBucketAcl: 'GetBucketAcl',
  GetBucketCors: 'GetBucketCors',
  GetBucketEncryption: 'GetBucketEncryption',
  GetBucketLifecycleConfiguration: 'GetBucketLifecycleConfiguration',
  GetBucketLocation: 'GetBucketLocation',
  GetBucketNotificationConfiguration: 'GetBucketNotificationConfiguration',
  GetBucketOwnershipControls: 'GetBucketOwnershipControls',
  GetBucketPolicy: 'GetBucketPolicy',
  GetBucketPolicyStatus: 'GetBucketPolicyStatus',
  GetBucketTagging: 'GetBucketTagging',
  GetBucketWebsite: 'GetBucketWebsite',
  GetBucketVersioning: 'GetBucketVersioning',
  GetObject: 'GetObject',
  GetObjectAcl: 'GetObjectAcl',
  GetObjectAttributes: 'GetObjectAttributes',
  GetObjectLegalHold: 'GetObjectLegalHold',
  GetObjectLockConfiguration: 'GetObjectLockConfiguration',
  GetObjectRetention: 'GetObjectRetention',
  GetObjectTagging: 'GetObjectTagging',
  GetPublicAccessBlock: 'GetPublicAccessBlock',
  HeadBucket: 'HeadBucket',
  HeadObject: 'HeadObject',
  ListBuckets: 'ListBuckets',
  // The host of this command differs at AWS. Apart from the host, the request equals that of ListBuckets.
  ListDirectoryBuckets: 'ListBuckets',
  ListMultipartUploads: 'ListMultipartUploads',
  ListObjectVersions: 'ListObjectVersions',
  ListObjects: 'ListObjects',
  ListObjectsV2: 'ListObjectsV2',
  ListParts: 'ListParts',
  PutBucketAcl: 'PutBucketAcl',
  PutBucketCors: 'PutBucketCors',
  PutBucketEncryption: 'PutBucketEncryption',
  PutBucketLifecycleConfiguration: 'PutBucketLifecycleConfiguration',
  PutBucketNotificationConfiguration: 'PutBucketNotificationConfiguration',
  PutBucketOwnershipControls: 'PutBucketOwnershipControls',
  PutBucketPolicy: 'PutBucketPolicy',
  PutBucketTagging: 'PutBucketTagging',
  PutBucketWebsite: 'PutBucketWebsite',
  PutBucketVersioning: 'PutBucketVersioning',
  PutObject: 'PutObject',
  PutObjectAcl: 'PutObjectAcl',
  PutObjectLegalHold: 'PutObjectLegalHold',
  PutObjectLockConfiguration: 'PutObjectLockConfiguration',
  PutObjectRetention: 'PutObjectRetention',
  PutObjectTagging: 'PutObjectTagging',
  PutPublicAccessBlock: 'PutPublicAccessBlock',
  UploadPart: 'UploadPart',
  UploadPartCopy: 'UploadPartCopy',
};

/** Commands on configurations that are never set here, each with the expected answer: a status or an error code. */
export const UNSET: Readonly<Record<string, number | string>> = {
  DeleteBucketMetadataConfiguration: 'MetadataConfigurationNotFound',
  DeleteBucketReplication: 204,
  GetBucketAbac: 200,
  GetBucketAccelerateConfiguration: 200,
  GetBucketAnalyticsConfiguration: 'NoSuchConfiguration',
  GetBucketIntelligentTieringConfiguration: 'NoSuchConfiguration',
  GetBucketInventoryConfiguration: 'NoSuchConfiguration',
  GetBucketLogging: 200,
  GetBucketMetadataConfiguration: 'MetadataConfigurationNotFound',
  GetBucketMetadataTableConfiguration: 'MetadataConfigurationNotFound',
  GetBucketMetricsConfiguration: 'NoSuchConfiguration',
  GetBucketReplication: 'ReplicationConfigurationNotFoundError',
  GetBucketRequestPayment: 200,
  ListBucketAnalyticsConfigurations: 200,
  ListBucketIntelligentTieringConfigurations: 200,
  ListBucketInventoryConfigurations: 200,
  ListBucketMetricsConfigurations: 200,
};

/** Commands that accept the default document and reject every other one with 501. Each value is a document to reject. */
export const UNSET_WRITES: Readonly<Record<string, CommandInput>> = {
  PutBucketAbac: { AbacStatus: { Status: 'Enabled' } },
  PutBucketAccelerateConfiguration: { AccelerateConfiguration: { Status: 'Enabled' } },
  PutBucketLogging: { BucketLoggingStatus: { LoggingEnabled: { TargetBucket: 'b', TargetPrefix: 'p' } } },
  PutBucketReplication: {
    ReplicationConfiguration: { Role: 'r', Rules: [{ Status: 'Enabled', Destination: { Bucket: 'arn:aws:s3:::b' } }] },
  },
  PutBucketRequestPayment: { RequestPaymentConfiguration: { Payer: 'Requester' } },
};

/** Commands that must be rejected with 501. */
export const NOT_IMPLEMENTED: readonly string[] = [
  'CreateBucketMetadataConfiguration',
  'CreateBucketMetadataTableConfiguration',
  'CreateSession',
  'DeleteBucketAnalyticsConfiguration',
  'DeleteBucketIntelligentTieringConfiguration',
  'DeleteBucketInventoryConfiguration',
  'DeleteBucketMetadataTableConfiguration',
  'DeleteBucketMetricsConfiguration',
  'DeleteObjectAnnotation',
  'GetObjectAnnotation',
  'GetObjectTorrent',
  'ListObjectAnnotations',
  'PutBucketAnalyticsConfiguration',
  'PutBucketIntelligentTieringConfiguration',
  'PutBucketInventoryConfiguration',
  'PutBucketMetricsConfiguration',
  'PutObjectAnnotation',
  'RenameObject',
  'RestoreObject',
  'SelectObjectContent',
  'UpdateBucketMetadataAnnotationTableConfiguration',
  'UpdateBucketMetadataInventoryTableConfiguration',
  'UpdateBucketMetadataJournalTableConfiguration',
  'UpdateObjectEncryption',
  'WriteGetObjectResponse',
];
