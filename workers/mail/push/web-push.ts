/**
 * Encrypts a push message for a device (RFC 8291 over RFC 8188) and signs its request for the push service (VAPID, RFC 8292). No
 * I/O.
 */
import { hkdfSync } from 'node:crypto';

export interface PushKeys {
  /** Public key of the device. Like its secret `auth`, it is in base64url. */
  readonly p256dh: string;
  readonly auth: string;
}

/** Maximum size of an encrypted record. All push services accept this much (RFC 8291 §4). */
const RECORD_BYTES = 4096;
const TAG_BYTES = 16;
const JWT_AGE_SECONDS = 12 * 3600;
const CURVE = { name: 'ECDH', namedCurve: 'P-256' } as const;
const PUBLIC_KEY_BYTES = 65;

const hkdf = (salt: Uint8Array, secret: Uint8Array, info: Uint8Array | string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, bytes));

/** @returns whether the keys have the form that `encryptPush` needs. */
export function areKeys({ p256dh, auth }: PushKeys): boolean {
  const point = Buffer.from(p256dh, 'base64url');
  return point.length === PUBLIC_KEY_BYTES && point[0] === 4 && Buffer.from(auth, 'base64url').length === 16;
}

/**
 * Encrypts a text.
 * @returns the body for `Content-Encoding: aes128gcm`, in one record.
 * @throws if the text is too long, or the key is not a point of the curve.
 */
export async function encryptPush(text: string, keys: PushKeys): Promise<Uint8Array> {
  const plain = Buffer.concat([Buffer.from(text), Buffer.from([2])]);
  if (plain.length + TAG_BYTES > RECORD_BYTES) throw new Error('a push message is too long');
  const devicePublic = Buffer.from(keys.p256dh, 'base64url');
  const pair = (await crypto.subtle.generateKey(CURVE, true, ['deriveBits'])) as CryptoKeyPair;
  const ownPublic = Buffer.from((await crypto.subtle.exportKey('raw', pair.publicKey)) as ArrayBuffer);
  const deviceKey = await crypto.subtle.importKey('raw', devicePublic, CURVE, false, []);
  // The types of Workers name this member `$public`, but WebCrypto names it `public`.
  const algorithm = { name: 'ECDH', public: deviceKey } as unknown as SubtleCryptoDeriveKeyAlgorithm;
  const shared = Buffer.from(await crypto.subtle.deriveBits(algorithm, pair.privateKey, 256));
  const about = Buffer.concat([Buffer.from('WebPush: info\0'), devicePublic, ownPublic]);
  const secret = hkdf(Buffer.from(keys.auth, 'base64url'), shared, about, 32);
  const salt = crypto.getRandomValues(new Uint8Array(16));
  const contentKey = hkdf(salt, secret, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = hkdf(salt, secret, 'Content-Encoding: nonce\0', 12);
  const key = await crypto.subtle.importKey('raw', contentKey, 'AES-GCM', false, ['encrypt']);
  const sealed = Buffer.from(await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce }, key, plain));
  const size = Buffer.alloc(4);
  size.writeUInt32BE(RECORD_BYTES);
  return Buffer.concat([salt, size, Buffer.from([ownPublic.length]), ownPublic, sealed]);
}

export interface VapidKey {
  readonly privateKey: CryptoKey;
  /** The public key as an uncompressed point in base64url, for `applicationServerKey` of browsers. */
  readonly publicKey: string;
}

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** Beginning of the PKCS #8 of a P-256 key without its public point (RFC 5915). The 32 bytes of the scalar follow. */
const PKCS8_HEAD = Buffer.from('3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420', 'hex');

/** Makes a key from a seed. @param seed 32 secret bytes. The same seed gives the same key. */
export async function toVapidKey(seed: Uint8Array): Promise<VapidKey> {
  const scalar = (BigInt(`0x${Buffer.from(seed).toString('hex')}`) % (ORDER - 1n)) + 1n;
  const pkcs8 = Buffer.concat([PKCS8_HEAD, Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')]);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']);
  const { x = '', y = '' } = (await crypto.subtle.exportKey('jwk', privateKey)) as JsonWebKey;
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  return { privateKey, publicKey: point.toString('base64url') };
}

/** @returns the `Authorization` header of a push. @param contact where the push service can reach the operator. */
export async function signVapid(
  url: string,
  { privateKey, publicKey }: VapidKey,
  contact: string,
  now: number,
): Promise<string> {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { aud: new URL(url).origin, exp: Math.floor(now / 1000) + JWT_AGE_SECONDS, sub: contact };
  const signed = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode(claims)}`;
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, Buffer.from(signed));
  return `vapid t=${signed}.${Buffer.from(signature).toString('base64url')}, k=${publicKey}`;
}
