/**
 * Detects the S3 action of a request from its method, the names in its path, its query and a few headers. Pure.
 *
 * An operation of the S3 API that is not implemented is 501. PUT, POST and DELETE also refuse every query name that the
 * detected action does not use, so a name never turns one operation into another. As at AWS, unknown names with a value
 * (`x-id=PutObject`) are ignored, and so are unknown names of GET and HEAD.
 */
import { S3_SUBRESOURCES, type S3Subresource } from '../../../identity/index.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';

export type S3Action =
  | 'AbortMultipartUpload'
  | 'CompleteMultipartUpload'
  | 'CopyObject'
  | 'CreateBucket'
  | 'CreateMultipartUpload'
  | 'DeleteBucket'
  | 'DeleteBucketCors'
  | 'DeleteBucketEncryption'
  | 'DeleteBucketLifecycle'
  | 'DeleteBucketOwnershipControls'
  | 'DeleteBucketPolicy'
  | 'DeleteBucketTagging'
  | 'DeleteBucketWebsite'
  | 'DeleteObject'
  | 'DeleteObjectTagging'
  | 'DeleteObjects'
  | 'DeletePublicAccessBlock'
  | 'DeleteUnsetConfiguration'
  | 'GetBucketAcl'
  | 'GetBucketCors'
  | 'GetBucketEncryption'
  | 'GetBucketLifecycleConfiguration'
  | 'GetBucketLocation'
  | 'GetBucketNotificationConfiguration'
  | 'GetBucketOwnershipControls'
  | 'GetBucketPolicy'
  | 'GetBucketPolicyStatus'
  | 'GetBucketTagging'
  | 'GetBucketVersioning'
  | 'GetBucketWebsite'
  | 'GetObject'
  | 'GetObjectAcl'
  | 'GetObjectAttributes'
  | 'GetObjectLegalHold'
  | 'GetObjectLockConfiguration'
  | 'GetObjectRetention'
  | 'GetObjectTagging'
  | 'GetPublicAccessBlock'
  | 'GetUnsetConfiguration'
  | 'HeadBucket'
  | 'HeadObject'
  | 'ListBuckets'
  | 'ListMultipartUploads'
  | 'ListObjectVersions'
  | 'ListObjects'
  | 'ListObjectsV2'
  | 'ListParts'
  | 'PostObject'
  | 'PreflightObject'
  | 'PutBucketAcl'
  | 'PutBucketCors'
  | 'PutBucketEncryption'
  | 'PutBucketLifecycleConfiguration'
  | 'PutBucketNotificationConfiguration'
  | 'PutBucketOwnershipControls'
  | 'PutBucketPolicy'
  | 'PutBucketTagging'
  | 'PutBucketVersioning'
  | 'PutBucketWebsite'
  | 'PutObject'
  | 'PutObjectAcl'
  | 'PutObjectLegalHold'
  | 'PutObjectLockConfiguration'
  | 'PutObjectRetention'
  | 'PutObjectTagging'
  | 'PutPublicAccessBlock'
  | 'PutUnsetConfiguration'
  | 'UploadPart'
  | 'UploadPartCopy';

/** The parts of a request from which its action is detected. */
export interface DetectableRequest {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: { get(name: string): string | null };
}

type Methods = Readonly<Record<string, S3Action>>;

/** Subresources of a bucket with the action of each method, in the order in which they are checked. */
const BUCKET_SUBRESOURCES: readonly (readonly [name: S3Subresource, methods: Methods])[] = [
  ['acl', { GET: 'GetBucketAcl', PUT: 'PutBucketAcl' }],
  ['cors', { GET: 'GetBucketCors', PUT: 'PutBucketCors', DELETE: 'DeleteBucketCors' }],
  ['delete', { POST: 'DeleteObjects' }],
  ['encryption', { GET: 'GetBucketEncryption', PUT: 'PutBucketEncryption', DELETE: 'DeleteBucketEncryption' }],
  [
    'lifecycle',
    {
      GET: 'GetBucketLifecycleConfiguration',
      PUT: 'PutBucketLifecycleConfiguration',
      DELETE: 'DeleteBucketLifecycle',
    },
  ],
  ['location', { GET: 'GetBucketLocation' }],
  ['notification', { GET: 'GetBucketNotificationConfiguration', PUT: 'PutBucketNotificationConfiguration' }],
  ['object-lock', { GET: 'GetObjectLockConfiguration', PUT: 'PutObjectLockConfiguration' }],
  [
    'ownershipControls',
    { GET: 'GetBucketOwnershipControls', PUT: 'PutBucketOwnershipControls', DELETE: 'DeleteBucketOwnershipControls' },
  ],
  ['policyStatus', { GET: 'GetBucketPolicyStatus' }],
  ['policy', { GET: 'GetBucketPolicy', PUT: 'PutBucketPolicy', DELETE: 'DeleteBucketPolicy' }],
  [
    'publicAccessBlock',
    { GET: 'GetPublicAccessBlock', PUT: 'PutPublicAccessBlock', DELETE: 'DeletePublicAccessBlock' },
  ],
  ['tagging', { GET: 'GetBucketTagging', PUT: 'PutBucketTagging', DELETE: 'DeleteBucketTagging' }],
  ['uploads', { GET: 'ListMultipartUploads' }],
  ['versioning', { GET: 'GetBucketVersioning', PUT: 'PutBucketVersioning' }],
  ['versions', { GET: 'ListObjectVersions' }],
  ['website', { GET: 'GetBucketWebsite', PUT: 'PutBucketWebsite', DELETE: 'DeleteBucketWebsite' }],
];

const OBJECT_SUBRESOURCES: readonly (readonly [name: S3Subresource, methods: Methods])[] = [
  ['acl', { GET: 'GetObjectAcl', PUT: 'PutObjectAcl' }],
  ['attributes', { GET: 'GetObjectAttributes' }],
  ['legal-hold', { GET: 'GetObjectLegalHold', PUT: 'PutObjectLegalHold' }],
  ['retention', { GET: 'GetObjectRetention', PUT: 'PutObjectRetention' }],
  ['tagging', { GET: 'GetObjectTagging', PUT: 'PutObjectTagging', DELETE: 'DeleteObjectTagging' }],
  ['uploads', { POST: 'CreateMultipartUpload' }],
];

/**
 * Configurations of a bucket that cannot be set. Reads return AWS's answer for an unset one; writes are 501 unless they match the
 * defaults.
 */
export const UNSET_CONFIGURATIONS = [
  'abac',
  'accelerate',
  'logging',
  'metadataConfiguration',
  'replication',
  'requestPayment',
] as const satisfies readonly S3Subresource[];

/** Configurations of a bucket that can be read but not written, and are always unset. `UNIMPLEMENTED` refuses their writes. */
export const UNSET_READS = [
  'analytics',
  'intelligent-tiering',
  'inventory',
  'metadataTable',
  'metrics',
] as const satisfies readonly S3Subresource[];

const UNSET_METHODS: Methods = {
  GET: 'GetUnsetConfiguration',
  PUT: 'PutUnsetConfiguration',
  DELETE: 'DeleteUnsetConfiguration',
};

/** Subresources that are refused on buckets and objects, except for the reads in `UNSET_READS` and the Object Lock of objects. */
const UNIMPLEMENTED: readonly S3Subresource[] = [
  'analytics',
  'annotation',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'metadataAnnotationTable',
  'metadataInventoryTable',
  'metadataJournalTable',
  'metadataTable',
  'metrics',
  'renameObject',
  'restore',
  'retention',
  'select',
  'session',
  'torrent',
];

/** Query parameters of operations on objects. In a request to a bucket they indicate that the key is missing. */
const OBJECT_PARAMETERS = ['partNumber', 'uploadId', 'versionId'];

/**
 * Query names that a write may carry with an empty value, because they select nothing: parameters of objects, responses, listings
 * and signatures, and names that begin with `x-`, which S3 ignores (User Guide, "Amazon S3 server access log format", custom access
 * log information).
 */
const PARAMETER =
  /^(x-.*|response-.*|partNumber|uploadId|versionId|prefix|delimiter|marker|max-keys|encoding-type|AWSAccessKeyId|Expires|Signature|content-type|content-md5)$/i;

const SUBRESOURCES: ReadonlySet<string> = new Set(S3_SUBRESOURCES);

export function detectAction(request: DetectableRequest): Result<S3Action, S3Failure> {
  if (request.method === 'OPTIONS') return ok('PreflightObject');
  if (request.bucket === '') {
    // A path like `//bucket/key` comes from an endpoint that ends in a slash. It is refused, because a list of buckets would be a
    // wrong answer.
    if (request.key !== '') return err(s3Failure('InvalidBucketName'));
    return request.method === 'GET' ? ok('ListBuckets') : err(notAllowed(request));
  }
  // WriteGetObjectResponse is the only operation that S3 selects by the path. It cannot be a bucket, because bucket names have no
  // capital letters.
  if (request.bucket === 'WriteGetObjectResponse' && request.method === 'POST') {
    return err(s3Failure('NotImplemented', 'The operation WriteGetObjectResponse is not implemented.'));
  }
  const has = (name: string) => request.query.has(name);
  const isBucket = request.key === '';
  const unimplemented = UNIMPLEMENTED.find((name) => has(name) && !isKnown(request, name));
  if (unimplemented !== undefined) return err(notImplemented(unimplemented));
  const unset = isBucket ? [...UNSET_CONFIGURATIONS, ...UNSET_READS].find(has) : undefined;
  if (unset !== undefined) return detectUnset(request, unset);
  for (const [name, methods] of isBucket ? BUCKET_SUBRESOURCES : OBJECT_SUBRESOURCES) {
    if (!has(name)) continue;
    const found = methods[request.method];
    return found ? acceptNames(request, name, found) : err(notAllowed(request));
  }
  return detectPlain(request);
}

const isKnown = ({ method, key }: DetectableRequest, name: S3Subresource): boolean =>
  key === ''
    ? method === 'GET' && UNSET_READS.some((readable) => readable === name)
    : (method === 'GET' || method === 'PUT') && (name === 'legal-hold' || name === 'retention');

function detectUnset(request: DetectableRequest, name: S3Subresource): Result<S3Action, S3Failure> {
  const found = UNSET_METHODS[request.method];
  if (found) return acceptNames(request, name, found);
  return err(request.method === 'POST' ? notImplemented(name) : notAllowed(request));
}

/** Detects the action of a request without a subresource. */
function detectPlain(request: DetectableRequest): Result<S3Action, S3Failure> {
  const isBucket = request.key === '';
  const listType = request.query.get('list-type') ?? '2';
  if (isBucket && request.method === 'GET' && listType !== '1' && listType !== '2') {
    return err(invalidArgument('list-type', listType, 'Invalid List Type specified in Request'));
  }
  const found = isBucket ? detectPlainBucket(request) : detectPlainObject(request);
  if (found === null) return err(notAllowed(request));
  if (isBucket && isWrite(request) && OBJECT_PARAMETERS.some((name) => request.query.has(name))) {
    return err(s3Failure('InvalidRequest', 'A key must be specified.'));
  }
  return acceptNames(request, null, found);
}

/**
 * Accepts an action unless its query has a name that a write must not ignore.
 * @param used the subresource that selected the action, or null.
 */
function acceptNames(
  request: DetectableRequest,
  used: S3Subresource | null,
  action: S3Action,
): Result<S3Action, S3Failure> {
  if (!isWrite(request)) return ok(action);
  for (const [name, value] of request.query) {
    if (name === used) continue;
    if (SUBRESOURCES.has(name) || (value === '' && !PARAMETER.test(name))) return err(notImplemented(name));
  }
  return ok(action);
}

const isWrite = ({ method }: DetectableRequest): boolean =>
  method === 'PUT' || method === 'POST' || method === 'DELETE';

function detectPlainBucket({ method, query }: DetectableRequest): S3Action | null {
  switch (method) {
    case 'GET':
      return query.get('list-type') === '2' ? 'ListObjectsV2' : 'ListObjects';
    case 'HEAD':
      return 'HeadBucket';
    case 'PUT':
      return 'CreateBucket';
    case 'DELETE':
      return 'DeleteBucket';
    case 'POST':
      return 'PostObject';
    default:
      return null;
  }
}

function detectPlainObject({ method, query, headers }: DetectableRequest): S3Action | null {
  const isUpload = query.has('uploadId');
  const isCopy = headers.get('x-amz-copy-source') !== null;
  switch (method) {
    case 'GET':
      return isUpload ? 'ListParts' : 'GetObject';
    case 'HEAD':
      return 'HeadObject';
    case 'PUT':
      if (isUpload || query.has('partNumber')) return isCopy ? 'UploadPartCopy' : 'UploadPart';
      return isCopy ? 'CopyObject' : 'PutObject';
    case 'POST':
      return isUpload ? 'CompleteMultipartUpload' : null;
    case 'DELETE':
      return isUpload ? 'AbortMultipartUpload' : 'DeleteObject';
    default:
      return null;
  }
}

/**
 * The error for a query name that selects an operation which does not exist, or not for this method and resource.
 * @param name the name in the query.
 */
const notImplemented = (name: string): S3Failure =>
  s3Failure(
    'NotImplemented',
    `The operation that the query parameter "${name.slice(0, 100)}" selects is not implemented.`,
  );

const notAllowed = ({ method, key }: DetectableRequest): S3Failure =>
  s3Failure('MethodNotAllowed', undefined, {
    details: { Method: method, ResourceType: key === '' ? 'BUCKET' : 'OBJECT' },
  });
