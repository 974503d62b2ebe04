/**
 * Signs outgoing mail with DKIM (RFC 6376), both by RSA-2048 (RFC 8301) and by Ed25519 (RFC 8463). Verifiers that do not know
 * Ed25519 ignore that signature. Header and body are in relaxed form. Header fields that a reader sees are signed once more than
 * they occur, so that no further field of the same name can be added.
 */
import { createHash } from 'node:crypto';

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256';

export interface DkimKey {
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  /** The private key: Base64 of PKCS #8. */
  readonly privateKey: string;
}

/** Header fields that are signed if present (RFC 6376 §5.4.1), in this order. */
const SIGNED_HEADERS = [
  'from',
  'reply-to',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'auto-submitted',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
];

/**
 * Header fields whose absence is signed. Legitimate relays do not add them, but an attacker who replays the message would (RFC 6376
 * §8.15).
 */
const SEALED_HEADERS = ['from', 'reply-to', 'to', 'cc', 'subject'];
/**
 * Header fields that are signed once more than they occur, but only if present. A relay may add them to a message that lacks them
 * (RFC 6409 §8).
 */
const SEALED_WHEN_PRESENT = ['date', 'message-id', 'mime-version', 'content-type', 'content-transfer-encoding'];

/**
 * Signs a message.
 * @param header the header of the message, each field with its CRLF.
 * @param bodyHash result of `createBodyHasher`.
 * @returns header fields to prepend; empty if there is no key.
 */
export async function signMessage(
  header: Buffer,
  bodyHash: string,
  keys: readonly DkimKey[],
  now: number,
): Promise<string> {
  const fields = splitFields(header.toString('latin1'));
  const signatures: string[] = [];
  for (const key of keys) signatures.push(await signOnce(fields, bodyHash, key, now));
  return signatures.join('');
}

interface Field {
  readonly name: string;
  readonly relaxed: string;
}

async function signOnce(fields: readonly Field[], bodyHash: string, key: DkimKey, now: number): Promise<string> {
  const present = SIGNED_HEADERS.flatMap((name) => fields.filter((field) => field.name === name).map(() => name));
  const sealed = [...SEALED_HEADERS, ...SEALED_WHEN_PRESENT.filter((name) => present.includes(name))];
  const unsigned = [
    `DKIM-Signature: v=1; a=${key.algorithm}; c=relaxed/relaxed; d=${key.domain};`,
    `s=${key.selector}; t=${Math.floor(now / 1000)};`,
    `h=${fold([...present, ...sealed].join(':'), ':')};`,
    `bh=${bodyHash};`,
    'b=',
  ].join('\r\n\t');
  // If several fields have the same name, the last one is signed first (RFC 6376 §5.4.2).
  const left = new Map<string, Field[]>();
  for (const field of fields) left.set(field.name, [...(left.get(field.name) ?? []), field]);
  const signed = present.map((name) => `${left.get(name)?.pop()?.relaxed ?? ''}\r\n`);
  const input = signed.join('') + (splitFields(`${unsigned}\r\n`)[0]?.relaxed ?? '');
  const signature = await signBytes(Buffer.from(input, 'latin1'), key);
  return `${unsigned}${signature.match(/.{1,72}/g)?.join('\r\n\t ') ?? ''}\r\n`;
}

/** Breaks a long list after separators, so that no line exceeds 78 characters. */
function fold(list: string, separator: string): string {
  let line = 0;
  return list
    .split(separator)
    .map((item, n, all) => {
      const text = n === all.length - 1 ? item : item + separator;
      line += text.length;
      if (line <= 68) return text;
      line = text.length;
      return `\r\n\t ${text}`;
    })
    .join('');
}

/**
 * @returns a header field in relaxed form (RFC 6376 §3.4.2): name in lower case, unfolded, white space collapsed and trimmed at
 * both ends of the value.
 */
function splitFields(header: string): Field[] {
  const unfolded = header.replace(/\r\n(?=[ \t])/g, '');
  return unfolded
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).trim().toLowerCase();
      const value = line
        .slice(colon + 1)
        .replace(/[ \t]+/g, ' ')
        .trim();
      return { name, relaxed: `${name}:${value}` };
    });
}

async function signBytes(bytes: Buffer, key: DkimKey): Promise<string> {
  const pkcs8 = Buffer.from(key.privateKey, 'base64');
  if (key.algorithm === 'rsa-sha256') {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']);
    return Buffer.from(await crypto.subtle.sign(algorithm, privateKey, bytes)).toString('base64');
  }
  // Ed25519 signs the SHA-256 of the data that RSA signs (RFC 8463 §3).
  const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, { name: 'Ed25519' }, false, ['sign']);
  const digest = createHash('sha256').update(bytes).digest();
  return Buffer.from(await crypto.subtle.sign({ name: 'Ed25519' }, privateKey, digest)).toString('base64');
}
