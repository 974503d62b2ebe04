/**
 * Keys that customers provide (SSE-C): the headers that bring a key, and what is stored in place of it (Amazon S3 User Guide, "Using
 * server-side encryption with customer-provided keys"). A key is in memory for one request; it is never stored and never logged.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from './failure.ts';

export interface CustomerKey {
  /** The 32 bytes of the key. */
  readonly bytes: Uint8Array;
  /** MD5 of the key in Base64. Answers repeat it. */
  readonly md5: string;
}

/** What a version or an upload stores of its key. */
export interface KeyRecord {
  /** 16 random bytes in hex. */
  readonly salt: string;
  /** HMAC-SHA256 of the salt under the key, in hex. It recognises the key without revealing it. */
  readonly hmac: string;
  /** Nonce of the object's bytes in hex. Absent for an object of parts, because the nonce of a part is its ETag. */
  readonly nonce?: string;
}

type Readable = { get(name: string): string | null };

const KEY_BYTES = 32;

/**
 * Reads the three headers of a customer-provided key.
 * @param prefix `x-amz-`, or `x-amz-copy-source-` for the source of a copy.
 * @returns null if the request has none of them.
 */
export function parseCustomerKey(headers: Readable, prefix = 'x-amz-'): Result<CustomerKey | null, S3Failure> {
  const nameOf = (member: string) => `${prefix}server-side-encryption-customer-${member}`;
  const read = (member: string) => headers.get(nameOf(member));
  const [algorithm, text, md5] = [read('algorithm'), read('key'), read('key-md5')];
  if (algorithm === null && text === null && md5 === null) return ok(null);
  // The value of the key is never part of an error.
  const invalid = (member: string, message: string) => err(invalidArgument(nameOf(member), '', message));
  const must = 'Requests specifying Server Side Encryption with Customer provided keys must provide';
  if (algorithm === null) return invalid('algorithm', `${must} a valid encryption algorithm.`);
  if (algorithm !== 'AES256') return err(s3Failure('InvalidEncryptionAlgorithmError'));
  if (text === null) return invalid('key', `${must} an appropriate secret key.`);
  if (md5 === null) return invalid('key-MD5', `${must} the client calculated MD5 of the secret key.`);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== KEY_BYTES) return invalid('key', 'The secret key was invalid for the specified algorithm.');
  if (createHash('md5').update(bytes).digest('base64') !== md5.trim()) {
    return invalid('key-MD5', 'The calculated MD5 hash of the key did not match the hash that was provided.');
  }
  return ok({ bytes, md5: md5.trim() });
}

const hmacOf = ({ bytes }: CustomerKey, purpose: string, hex: string): Buffer =>
  createHmac('sha256', bytes).update(`${purpose} ${hex}`).digest();

/** @param random 16 random bytes in hex. @param nonce nonce of the bytes; absent for an upload in parts. */
export const toKeyRecord = (key: CustomerKey, random: string, nonce?: string): KeyRecord => ({
  salt: random,
  hmac: hmacOf(key, 'check', random).toString('hex'),
  ...(nonce === undefined ? {} : { nonce }),
});

export const isKeyOf = ({ salt, hmac }: KeyRecord, key: CustomerKey): boolean =>
  timingSafeEqual(hmacOf(key, 'check', salt), Buffer.from(hmac, 'hex'));

/** Finds the record in the metadata of a version or an upload. @returns null if no customer-provided key encrypts it. */
export function keyRecordOf(metadata: {
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}): KeyRecord | null {
  return (metadata.extra?.customerKey as KeyRecord | undefined) ?? null;
}

const BLOCK_BYTES = 16;

/** Encrypts and decrypts bytes of one object or part. Both are the same operation. */
export interface Cipher {
  /** @param offset position of the bytes in the object or part. */
  apply(bytes: Uint8Array, offset: number): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * AES-256 in counter mode. Each nonce has a data key of its own, derived from the customer's key, and the counter is the number of
 * the block. So the ciphertext is as long as the plaintext, and every range of it can be read alone.
 * @param nonce 16 random bytes in hex, never used twice with the same key.
 */
export async function createCipher(key: CustomerKey, nonce: string): Promise<Cipher> {
  const secret = new Uint8Array(hmacOf(key, 'data', nonce));
  const dataKey = await crypto.subtle.importKey('raw', secret, 'AES-CTR', false, ['encrypt']);
  return {
    async apply(bytes, offset) {
      const skipped = offset % BLOCK_BYTES;
      const counter = new Uint8Array(BLOCK_BYTES);
      new DataView(counter.buffer).setBigUint64(8, BigInt((offset - skipped) / BLOCK_BYTES));
      const input = new Uint8Array(skipped + bytes.length);
      input.set(bytes, skipped);
      const output = await crypto.subtle.encrypt({ name: 'AES-CTR', counter, length: 64 }, dataKey, input);
      return new Uint8Array(output, skipped);
    },
  };
}
