/** Verifies the DKIM signatures of a message (RFC 6376, RFC 8301, RFC 8463). */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { HeaderField } from '../../mime/mime-tree.ts';
import type { DkimVerdict } from '../verdicts.ts';
import { toALabels } from './a-labels.ts';
import { type BodyDigest, type Canonicalization, toCanonicalField } from './canonical-form.ts';
import { type KeyRing, type SignatureFailure, selectFields, toUnsignedField, verifySignature } from './signature.ts';
import { parseTagList, withoutSpace } from './tag-list.ts';

/** Maximum of signatures that are checked. Each costs a look-up and two hashes; honest senders use fewer. */
export const SIGNATURES_MAX = 10;

export interface SignedMessage {
  readonly headers: readonly HeaderField[];
  readonly digestBody: DigestBody;
}

/** @returns the hash of the body in a canonical form; null if it was not computed while the body streamed. */
export type DigestBody = (
  form: Canonicalization,
  algorithm: 'sha256' | 'sha1',
  lengthMax: number | null,
) => BodyDigest | null;

/** @returns the hash function that `a=` names. */
export const hashOf = (algorithm: string): 'sha256' | 'sha1' => (algorithm.endsWith('-sha1') ? 'sha1' : 'sha256');

/** Tags of a DKIM-Signature or ARC-Message-Signature with valid syntax. */
export interface SignatureTags {
  readonly algorithm: string;
  readonly domain: string;
  readonly selector: string;
  readonly signature: string;
  readonly bodyHash: string;
  readonly names: readonly string[];
  readonly headerForm: Canonicalization;
  readonly bodyForm: Canonicalization;
  readonly bodyLength: number | null;
  readonly identity: string;
  readonly expiresAt: number | null;
}

/** @returns one verdict per signature, in header order. `aligned` is false; DMARC sets it later. */
export async function verifyDkim(message: SignedMessage, keys: KeyRing, now: number): Promise<DkimVerdict[]> {
  const fields = message.headers.filter((field) => field.name === 'dkim-signature').slice(0, SIGNATURES_MAX);
  return Promise.all(fields.map((field) => verifyField(field, message, keys, now)));
}

async function verifyField(
  field: HeaderField,
  message: SignedMessage,
  keys: KeyRing,
  now: number,
): Promise<DkimVerdict> {
  const tags = readSignatureTags(field.value, { isArc: false });
  if (!tags.ok) {
    const raw = parseTagList(field.value);
    const about = { domain: raw?.get('d') ?? '', selector: raw?.get('s') ?? '', algorithm: raw?.get('a') ?? '' };
    return { ...tags.error, ...about, aligned: false };
  }
  const { domain, selector, algorithm } = tags.value;
  const checked = await checkSignature(field, tags.value, message, keys, now);
  const verdict = checked.ok ? { result: 'pass' as const, reason: checked.value } : checked.error;
  const isCovered = ['list-unsubscribe', 'list-unsubscribe-post'].every((name) => coversAll(message, tags.value, name));
  return { ...verdict, domain, selector, algorithm, aligned: false, ...(isCovered ? { unsubscribe: true } : {}) };
}

/** True if the message has fields of this name, and all of them are signed. */
function coversAll({ headers }: SignedMessage, { names }: SignatureTags, wanted: string): boolean {
  const present = headers.filter((field) => field.name === wanted).length;
  return present > 0 && names.filter((name) => name === wanted).length >= present;
}

/** @returns a note about a valid signature (often empty), or the failure. */
export async function checkSignature(
  field: HeaderField,
  tags: SignatureTags,
  message: SignedMessage,
  keys: KeyRing,
  now: number,
): Promise<Result<string, SignatureFailure>> {
  const fail = (result: SignatureFailure['result'], reason: string) => err<SignatureFailure>({ result, reason });
  if (tags.expiresAt !== null && tags.expiresAt * 1000 < now) return fail('fail', 'the signature has expired');
  const key = await keys(tags.domain, tags.selector);
  if (!key.ok) return key;
  const identityDomain = toALabels(tags.identity.slice(tags.identity.lastIndexOf('@') + 1));
  if (key.value.isStrict && identityDomain !== tags.domain)
    return fail('permerror', 'the key may not sign for subdomains');
  const body = message.digestBody(tags.bodyForm, hashOf(tags.algorithm), tags.bodyLength);
  if (body === null) return fail('permerror', 'too many signatures');
  if (tags.bodyLength !== null && tags.bodyLength > body.length) return fail('permerror', 'l= is longer than the body');
  if (body.digest.toString('base64') !== withoutSpace(tags.bodyHash))
    return fail('fail', 'the body was changed after signing');
  const signed = selectFields(message.headers, tags.names).map(
    (one) => `${toCanonicalField(one.source, tags.headerForm)}\r\n`,
  );
  const data = `${signed.join('')}${toUnsignedField(field.source, tags.headerForm)}`;
  const verified = await verifySignature(key.value, tags.algorithm, tags.signature, data);
  if (!verified.ok) return verified;
  const twin = findUnsignedTwin(message.headers, tags.names);
  if (twin !== null) return fail('policy', `an unsigned ${twin} accompanies the signed one`);
  const unsigned = tags.bodyLength === null ? 0 : body.length - tags.bodyLength;
  return ok(unsigned > 0 ? `only the first ${tags.bodyLength} bytes of the body are signed` : '');
}

/**
 * Fields that a client shows or uses and that may occur only once (RFC 5322 §3.6, RFC 2045 §4). MIME-Version is omitted, because a
 * second one cannot mislead a reader.
 */
const SINGLE_FIELDS = ['subject', 'to', 'reply-to', 'date', 'content-type', 'content-transfer-encoding'];

/**
 * Finds a field that is signed but also occurs unsigned. An attacker who replays a signed message can add a second field on top,
 * which clients show as if it were signed (RFC 6376 §8.15).
 */
function findUnsignedTwin(headers: readonly HeaderField[], signed: readonly string[]): string | null {
  const count = (names: readonly string[], wanted: string) => names.filter((name) => name === wanted).length;
  const present = headers.map((field) => field.name);
  const isTwin = (name: string) => signed.includes(name) && count(signed, name) < count(present, name);
  return SINGLE_FIELDS.find(isTwin) ?? null;
}

/**
 * Parses the tags of a signature.
 * @param options `isArc`: the field is an ARC-Message-Signature, where `i=` is the instance and `v=` is absent (RFC 8617 §4.1.2).
 */
export function readSignatureTags(value: string, options: { isArc: boolean }): Result<SignatureTags, SignatureFailure> {
  const fail = (reason: string) => err<SignatureFailure>({ result: 'permerror', reason });
  const tags = parseTagList(value);
  if (tags === null) return fail('the signature is not a tag list');
  if (!options.isArc && tags.get('v') !== '1') return fail('unknown signature version');
  for (const name of ['a', 'b', 'bh', 'd', 'h', 's']) if (!tags.get(name)) return fail(`the signature has no ${name}=`);
  const domain = toALabels(tags.get('d') ?? '');
  const selector = tags.get('s') ?? '';
  if (!isDomain(domain) || !isDomain(selector)) return fail('d= or s= is not a domain name');
  const algorithm = (tags.get('a') ?? '').toLowerCase();
  if (!['rsa-sha256', 'ed25519-sha256', 'rsa-sha1'].includes(algorithm))
    return fail(`unknown algorithm ${algorithm.slice(0, 40)}`);
  const names = (tags.get('h') ?? '').split(':').map((name) => name.trim().toLowerCase());
  if (names.length > 500) return fail('h= is too long');
  if (!names.includes('from')) return fail('From is not signed');
  const [headerForm = 'simple', bodyForm = 'simple'] = (tags.get('c') ?? 'simple/simple').toLowerCase().split('/');
  if (!isForm(headerForm) || !isForm(bodyForm)) return fail('unknown canonicalization in c=');
  const identity = options.isArc ? `@${domain}` : (tags.get('i') ?? `@${domain}`);
  const identityDomain = toALabels(identity.slice(identity.lastIndexOf('@') + 1));
  if (identityDomain !== domain && !identityDomain.endsWith(`.${domain}`)) return fail('i= is outside the domain d=');
  const numbers = ['l', 't', 'x'].map((name) => (tags.has(name) ? Number(tags.get(name)) : null));
  if (numbers.some((number) => number !== null && !(Number.isSafeInteger(number) && number >= 0)))
    return fail('l=, t= or x= is not a number');
  const [bodyLength = null, signedAt = null, expiresAt = null] = numbers;
  if (signedAt !== null && expiresAt !== null && expiresAt <= signedAt)
    return fail('the signature expires before it was made');
  const [signature = '', bodyHash = ''] = [tags.get('b'), tags.get('bh')];
  return ok({
    algorithm,
    domain,
    selector,
    signature,
    bodyHash,
    names,
    headerForm,
    bodyForm,
    bodyLength,
    identity,
    expiresAt,
  });
}

const isForm = (text: string): text is Canonicalization => text === 'simple' || text === 'relaxed';
export const isDomain = (text: string): boolean =>
  text.length <= 253 &&
  /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/i.test(text);
