/** Common parts of DKIM signatures, ARC message signatures and ARC seals: tags, public keys in DNS, and verification. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { HeaderField } from '../../mime/mime-tree.ts';
import type { ResolveDns } from '../dependencies.ts';
import type { DkimResult } from '../verdicts.ts';
import { type Canonicalization, toCanonicalField } from './canonical-form.ts';
import { parseTagList, withoutSpace } from './tag-list.ts';

export interface SignatureFailure {
  readonly result: Exclude<DkimResult, 'pass' | 'none'>;
  readonly reason: string;
}

export interface PublicKey {
  readonly key: CryptoKey;
  readonly kind: 'rsa' | 'ed25519';
  readonly bits: number;
  /** True if the key has `t=s`: the domain of the identity must equal d=. */
  readonly isStrict: boolean;
}

/** Minimum size of an RSA key. RFC 8301 §3.2: verifiers must reject shorter keys. */
export const RSA_BITS_MIN = 1_024;

const failure = (result: SignatureFailure['result'], reason: string) => err<SignatureFailure>({ result, reason });

/** @returns a look-up of public keys that queries each key once per message, even if several signatures use it. */
export function createKeyRing(resolveDns: ResolveDns) {
  const asked = new Map<string, Promise<Result<PublicKey, SignatureFailure>>>();
  return (domain: string, selector: string): Promise<Result<PublicKey, SignatureFailure>> => {
    const name = `${selector}._domainkey.${domain}`;
    const known = asked.get(name) ?? findKey(name, resolveDns);
    asked.set(name, known);
    return known;
  };
}
export type KeyRing = ReturnType<typeof createKeyRing>;

async function findKey(name: string, resolveDns: ResolveDns): Promise<Result<PublicKey, SignatureFailure>> {
  const answer = await resolveDns(name, 'TXT');
  if (!answer.ok) {
    return answer.error.kind === 'no_such_domain'
      ? failure('permerror', `no key at ${name}`)
      : failure('temperror', `key look-up at ${name} failed: ${answer.error.reason}`);
  }
  const records = answer.value.filter((record) => /(?:^|;)\s*p\s*=/.test(record));
  const [record] = records;
  if (record === undefined) return failure('permerror', `no key at ${name}`);
  if (records.length > 1) return failure('permerror', `several keys at ${name}`);
  return readKey(record);
}

/** Reads a public key record (RFC 6376 §3.6.1, RFC 8463 §3). */
export async function readKey(record: string): Promise<Result<PublicKey, SignatureFailure>> {
  const tags = parseTagList(record);
  if (tags === null) return failure('permerror', 'the key record is not a tag list');
  if (tags.has('v') && tags.get('v') !== 'DKIM1') return failure('permerror', 'unknown key record version');
  const encoded = withoutSpace(tags.get('p') ?? '');
  if (encoded === '') return failure('permerror', 'the key is revoked');
  const services = (tags.get('s') ?? '*').split(':').map((service) => service.trim());
  if (!services.includes('*') && !services.includes('email')) return failure('permerror', 'the key is not for mail');
  const hashes = tags
    .get('h')
    ?.split(':')
    .map((hash) => hash.trim());
  if (hashes !== undefined && !hashes.includes('sha256')) return failure('permerror', 'the key is not for SHA-256');
  const isStrict = (tags.get('t') ?? '').split(':').some((flag) => flag.trim() === 's');
  const bytes = Buffer.from(encoded, 'base64');
  const kind = tags.get('k') ?? 'rsa';
  try {
    if (kind === 'ed25519') {
      const key = await crypto.subtle.importKey('raw', bytes, { name: 'Ed25519' }, false, ['verify']);
      return ok({ key, kind, bits: 256, isStrict });
    }
    if (kind !== 'rsa') return failure('permerror', `unknown key type ${kind}`);
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('spki', toSpki(bytes), algorithm, false, ['verify']);
    const { modulusLength = 0 } = key.algorithm as { modulusLength?: number };
    return ok({ key, kind, bits: modulusLength, isStrict });
  } catch {
    return failure('permerror', 'the key is malformed');
  }
}

/** Wraps a bare RSAPublicKey, which some domains publish, in the SubjectPublicKeyInfo that WebCrypto requires (RFC 5280 §4.1). */
function toSpki(bytes: Buffer): Buffer {
  const isBare = bytes[0] === 0x30 && bytes[derHeaderLength(bytes, 0)] === 0x02;
  if (!isBare) return bytes;
  const rsaEncryption = Buffer.from('300d06092a864886f70d0101010500', 'hex');
  const bitString = der(0x03, Buffer.concat([Buffer.from([0]), bytes]));
  return der(0x30, Buffer.concat([rsaEncryption, bitString]));
}

const derHeaderLength = (bytes: Buffer, at: number) =>
  (bytes[at + 1] ?? 0) & 0x80 ? 2 + ((bytes[at + 1] ?? 0) & 0x7f) : 2;

function der(tag: number, content: Buffer): Buffer {
  const length = content.length < 0x80 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

/** Verifies a signature. @param data the canonical header fields that were signed. */
export async function verifySignature(
  key: PublicKey,
  algorithm: string,
  signature: string,
  data: string,
): Promise<Result<true, SignatureFailure>> {
  const [kind, hash] = algorithm.split('-');
  if (kind !== key.kind)
    return failure('permerror', `the key has type ${key.kind}, but the signature uses ${algorithm}`);
  if (hash !== 'sha256') return failure('policy', `${algorithm} is obsolete (RFC 8301)`);
  if (key.kind === 'rsa' && key.bits < RSA_BITS_MIN) return failure('policy', `the RSA key has only ${key.bits} bits`);
  const bytes = Buffer.from(data, 'latin1');
  const signed = Buffer.from(withoutSpace(signature), 'base64');
  const isValid =
    key.kind === 'rsa'
      ? await crypto.subtle.verify('RSASSA-PKCS1-v1_5', key.key, signed, bytes)
      : // RFC 8463 §3: Ed25519 signs the SHA-256 of the data.
        await crypto.subtle.verify({ name: 'Ed25519' }, key.key, signed, await crypto.subtle.digest('SHA-256', bytes));
  return isValid ? ok(true) : failure('fail', 'the signature does not match the header');
}

/**
 * Selects the fields that `h=` lists, each from the bottom up. A name that is listed more often than it occurs selects nothing
 * more: this signs that no further field exists (§5.4.2).
 */
export function selectFields(headers: readonly HeaderField[], names: readonly string[]): HeaderField[] {
  const used = new Map<string, number>();
  const selected: HeaderField[] = [];
  const byName = new Map<string, HeaderField[]>();
  for (const field of headers) byName.set(field.name, [...(byName.get(field.name) ?? []), field]);
  for (const name of names) {
    const fields = byName.get(name) ?? [];
    const count = used.get(name) ?? 0;
    used.set(name, count + 1);
    const field = fields[fields.length - 1 - count];
    if (field !== undefined) selected.push(field);
  }
  return selected;
}

/** @returns the signature's own field without the value of `b=` (§3.7). It is signed last, without a line end. */
export function toUnsignedField(source: string, form: Canonicalization): string {
  const emptied = source.replace(/((?:^[^:]*:|;)\s*b\s*=)[^;]*/, '$1');
  return toCanonicalField(emptied, form);
}
