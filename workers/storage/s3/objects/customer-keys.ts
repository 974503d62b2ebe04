/** The customer-provided key of a request (SSE-C): whether it may be used, and whether it is the key of the object or upload. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import {
  type CustomerKey,
  isKeyOf,
  type KeyRecord,
  keyRecordOf,
  parseCustomerKey,
  toKeyRecord,
} from '../../domain/customer-key.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type {
  Bucket,
  ObjectMetadata,
  UploadFacts,
  VersionAttributes,
  VersionFacts,
} from '../../engine/model/contract.ts';
import { encryptionTextOf } from '../access/bucket-configuration.ts';
import { encryptBody, encryptPart } from '../bodies/encrypted-body.ts';
import type { UploadBody } from '../bodies/upload-body.ts';
import { readEncryption } from '../documents/encryption-document.ts';

type Readable = { get(name: string): string | null };

/** The key that encrypts a new object or upload; null for an object that the customer does not encrypt. */
export function readWriteKey(headers: Readable, bucket: Bucket): Result<CustomerKey | null, S3Failure> {
  const key = parseCustomerKey(headers);
  if (!key.ok || key.value === null) return key;
  const other = headers.get('x-amz-server-side-encryption');
  if (other !== null) {
    const message =
      'Server Side Encryption with Customer provided key is incompatible with the encryption method specified';
    return err(invalidArgument('x-amz-server-side-encryption', other, message));
  }
  // PutBucketEncryption, "BlockedEncryptionTypes".
  if (readEncryption(encryptionTextOf(bucket))?.blockedTypes.includes('SSE-C')) return err(s3Failure('AccessDenied'));
  return key;
}

const NOT_APPLICABLE = 'The encryption parameters are not applicable to this object.';
const IS_ENCRYPTED =
  'The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.';

/**
 * Checks the key of a read.
 * @param prefix `x-amz-`, or `x-amz-copy-source-` for the source of a copy.
 * @returns the key of the version; null if the version has none.
 */
export function checkReadKey(
  { metadata }: Pick<VersionFacts, 'metadata'>,
  headers: Readable,
  prefix = 'x-amz-',
): Result<CustomerKey | null, S3Failure> {
  const key = parseCustomerKey(headers, prefix);
  if (!key.ok) return key;
  const record = keyRecordOf(metadata);
  if (record === null) return key.value === null ? key : err(s3Failure('InvalidRequest', NOT_APPLICABLE));
  if (key.value === null) return err(s3Failure('InvalidRequest', IS_ENCRYPTED));
  return isKeyOf(record, key.value) ? key : err(s3Failure('AccessDenied'));
}

/** Checks the key of a part, or of a completion: it must be the key of the upload. */
export function checkPartKey(
  { metadata }: Pick<UploadFacts, 'metadata'>,
  key: CustomerKey | null,
): Result<CustomerKey | null, S3Failure> {
  const invalid = (message: string) => err(s3Failure('InvalidRequest', message));
  const record = keyRecordOf(metadata);
  if (record === null && key === null) return ok(null);
  if (record === null) {
    return invalid(
      'The multipart upload initiate did not request encryption. Please resend the request without sending encryption parameters.',
    );
  }
  if (key === null) {
    return invalid(
      'The multipart upload initiate requested encryption. Subsequent part requests must include the appropriate encryption parameters.',
    );
  }
  if (isKeyOf(record, key)) return ok(key);
  return invalid('The provided encryption parameters did not match the ones used originally.');
}

/** A body as the engine takes it, and what the object stores of its key. */
export interface SealedBody {
  readonly body: UploadBody;
  /** Null without a customer-provided key. */
  readonly record: KeyRecord | null;
}

/** Encrypts the body of a new object if the request has a key. */
export async function sealBody(body: UploadBody, key: CustomerKey | null): Promise<SealedBody> {
  if (key === null) return { body, record: null };
  const nonce = toRandomHex();
  return { body: await encryptBody(body, key, nonce), record: toNewRecord(key, nonce) };
}

/** Encrypts the body of a part if its upload has a key. */
export const sealPart = async (body: UploadBody, key: CustomerKey | null): Promise<UploadBody> =>
  key === null ? body : await encryptPart(body, key, toRandomHex());

const toRandomHex = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex');
/** The record of a new object's key. @param nonce absent for an upload in parts. */
export const toNewRecord = (key: CustomerKey, nonce?: string): KeyRecord => toKeyRecord(key, toRandomHex(), nonce);

/** Adds the record of its key to the attributes of a new object. @param record null for an object without one. */
export function withKeyRecord<T extends VersionAttributes>(object: T, record: KeyRecord | null): T {
  if (record === null) return object;
  const metadata: ObjectMetadata = { ...object.metadata, extra: { ...object.metadata.extra, customerKey: record } };
  return { ...object, metadata };
}
