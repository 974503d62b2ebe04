import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type CustomerKey,
  createCipher,
  isKeyOf,
  parseCustomerKey,
  toKeyRecord,
} from '../../../workers/storage/domain/customer-key.ts';

const bytes = Buffer.alloc(32, 7);
const MD5 = createHash('md5').update(bytes).digest('base64');
const PREFIX = 'x-amz-server-side-encryption-customer-';
const headersOf = (members: Record<string, string>) =>
  new Headers(Object.entries(members).map(([member, value]) => [PREFIX + member, value]));
const SENT = { algorithm: 'AES256', key: bytes.toString('base64'), 'key-md5': MD5 };
const key: CustomerKey = { bytes, md5: MD5 };

describe('the headers of a customer-provided key', () => {
  it('are read together, and their absence is no error', () => {
    expect(parseCustomerKey(new Headers())).toEqual({ ok: true, value: null });
    expect(parseCustomerKey(headersOf(SENT))).toMatchObject({ ok: true, value: { md5: MD5 } });
    expect(parseCustomerKey(headersOf(SENT), 'x-amz-copy-source-')).toEqual({ ok: true, value: null });
  });

  const { algorithm: _, ...withoutAlgorithm } = SENT;
  it.each([
    ['without an algorithm', withoutAlgorithm, 'InvalidArgument', 'valid encryption algorithm'],
    ['with another algorithm', { ...SENT, algorithm: 'AES192' }, 'InvalidEncryptionAlgorithmError', 'AES256'],
    ['without a key', { algorithm: 'AES256' }, 'InvalidArgument', 'appropriate secret key'],
    ['without an MD5', { algorithm: 'AES256', key: SENT.key }, 'InvalidArgument', 'client calculated MD5'],
    ['with a short key', { ...SENT, key: 'AAAA' }, 'InvalidArgument', 'secret key was invalid'],
    ['with another MD5', { ...SENT, 'key-md5': 'AAAA' }, 'InvalidArgument', 'did not match'],
  ])('are refused %s, and the error does not show the key', (_case, members, code, message) => {
    const parsed = parseCustomerKey(headersOf(members as Record<string, string>));
    expect(parsed).toMatchObject({ ok: false, error: { code, message: expect.stringContaining(message) } });
    expect(JSON.stringify(parsed)).not.toContain(SENT.key);
  });
});

describe('the record of a key', () => {
  it('recognises the key alone, and differs for each object', () => {
    const records = [1, 2].map(() => toKeyRecord(key, randomBytes(16).toString('hex'), 'ab'));
    expect(records.map((record) => isKeyOf(record, key))).toEqual([true, true]);
    expect(records.map((record) => isKeyOf(record, { ...key, bytes: Buffer.alloc(32, 8) }))).toEqual([false, false]);
    expect(records[0]?.hmac).not.toBe(records[1]?.hmac);
  });
});

describe('the cipher', () => {
  it('is AES-256-CTR of OpenSSL from the block of each range', async () => {
    const nonce = randomBytes(16).toString('hex');
    const dataKey = createHmac('sha256', bytes).update(`data ${nonce}`).digest();
    const plain = randomBytes(10_000);
    const whole = createCipheriv('aes-256-ctr', dataKey, Buffer.alloc(16)).update(plain);
    const cipher = await createCipher(key, nonce);
    expect(Buffer.from(await cipher.apply(plain, 0)).equals(whole)).toBe(true);
    for (const [start, end] of [
      [0, 1],
      [15, 17],
      [16, 48],
      [4_097, 9_999],
    ] as const) {
      expect(Buffer.from(await cipher.apply(plain.subarray(start, end), start))).toEqual(whole.subarray(start, end));
      expect(Buffer.from(await cipher.apply(whole.subarray(start, end), start))).toEqual(plain.subarray(start, end));
    }
  });

  it('counts blocks beyond 32 bits', async () => {
    const cipher = await createCipher(key, '00');
    const [near, far] = [await cipher.apply(new Uint8Array(16), 0), await cipher.apply(new Uint8Array(16), 2 ** 37)];
    expect(Buffer.from(near).equals(Buffer.from(far))).toBe(false);
  });
});
