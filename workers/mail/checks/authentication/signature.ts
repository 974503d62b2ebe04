/** What DKIM signatures, ARC message signatures and ARC seals share: tags, public keys in DNS, and the check of a signature. */
import { err, ok, type Result } from '../../../shared/result.ts';
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
  /** `t=s`: the identity must be of the very domain. */
  readonly isStrict: boolean;
}

/** RFC 8301 §3.2: shorter keys are not to be trusted. */
export const RSA_BITS_MIN = 1_024;

const failure = (result: SignatureFailure['result'], reason: string) => err<SignatureFailure>({ result, reason });

/** Keys are asked for once a message, however many signatures name them. */
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
      : failure('temperror', `the key at ${name} could not be asked for: ${answer.error.reason}`);
  }
  const records = answer.value.filter((record) => /(?:^|;)\s*p\s*=/.test(record));
  const [record] = records;
  if (record === undefined) return failure('permerror', `no key at ${name}`);
  if (records.length > 1) return failure('permerror', `several keys at ${name}`);
  return readKey(record);
}

/** RFC 6376 §3.6.1, RFC 8463 §3. */
export async function readKey(record: string): Promise<Result<PublicKey, SignatureFailure>> {
  const tags = parseTagList(record);
  if (tags === null) return failure('permerror', 'the key record is no list of tags');
  if (tags.has('v') && tags.get('v') !== 'DKIM1') return failure('permerror', 'the key record is of another version');
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
    if (kind !== 'rsa') return failure('permerror', `keys of type ${kind} are not known`);
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('spki', toSpki(bytes), algorithm, false, ['verify']);
    const { modulusLength = 0 } = key.algorithm as { modulusLength?: number };
    return ok({ key, kind, bits: modulusLength, isStrict });
  } catch {
    return failure('permerror', 'the key cannot be read');
  }
}

/** Some publish a bare RSAPublicKey; WebCrypto wants it inside a SubjectPublicKeyInfo (RFC 5280 §4.1). */
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

/** @param data the canonical header fields that were signed. */
export async function verifySignature(
  key: PublicKey,
  algorithm: string,
  signature: string,
  data: string,
): Promise<Result<true, SignatureFailure>> {
  const [kind, hash] = algorithm.split('-');
  if (kind !== key.kind) return failure('permerror', `the key is of type ${key.kind}, the signature ${algorithm}`);
  if (hash !== 'sha256') return failure('policy', `${algorithm} is not trusted any more (RFC 8301)`);
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

/** `h=`: fields are taken from the bottom up, each once; naming one more than there are signs its absence (§5.4.2). */
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

/** The signature's own field with the value of `b=` taken out (§3.7), which is signed last and without a line end. */
export function toUnsignedField(source: string, form: Canonicalization): string {
  const emptied = source.replace(/((?:^[^:]*:|;)\s*b\s*=)[^;]*/, '$1');
  return toCanonicalField(emptied, form);
}
