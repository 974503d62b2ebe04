/**
 * Finds the SMTP client of a message from Cloudflare Email Routing, which passes no client address to a Worker. Email Routing adds
 * an ARC set (RFC 8617) to the message. The address of the client is at the end of its ARC-Authentication-Results.
 *
 * By design, only that address and the HELO name are believed, and only from the newest set, if its seal and its message signature
 * by `cloudflare-email.net` verify. A sender cannot forge them. The fields `Received`, `Received-SPF`, `Authentication-Results` and
 * `X-…` have the same content but are not sealed, so a sender may forge them; they are ignored. The recorded results are not used
 * either: SPF and DMARC are computed here, from the address.
 */
import { readHeaders, unfold } from '../../mime/mime-tree.ts';
import type { CheckDependencies } from '../dependencies.ts';
import { verifyArc } from './arc.ts';
import { hashBody } from './canonical-form.ts';
import { createKeyRing } from './signature.ts';
import { parseClientIp } from './spf.ts';

const SEALER = 'cloudflare-email.net';
const AUTHSERV_ID = 'mx.cloudflare.net';
/** The last result, with the client address. Earlier results contain names that the sender chose, such as HELO. */
const REMOTE_IP = /;\s*arc=[a-z]+\s+smtp\.remote-ip="?([0-9a-f.:]{2,45})"?\s*;?\s*$/i;

export interface SealedClient {
  readonly clientIp: string;
  /** HELO name of the client; null if the results contain none or several. */
  readonly helo: string | null;
}

/** Finds the SMTP client. @param raw the whole message. @returns null if no client is proven. */
export async function readSealedClient(
  raw: Uint8Array,
  { resolveDns, now }: Pick<CheckDependencies, 'resolveDns' | 'now'>,
): Promise<SealedClient | null> {
  const { headers, bodyStart } = readHeaders(raw);
  const sets = headers.filter((field) => field.name === 'arc-authentication-results').map(({ value }) => unfold(value));
  // A message without an ARC set of Cloudflare needs no DNS look-up.
  if (!sets.some((value) => value.includes(AUTHSERV_ID))) return null;
  const body = raw.subarray(bodyStart);
  const message = { headers, digestBody: (...form: [Form, Algorithm, number | null]) => hashBody(body, ...form) };
  const arc = await verifyArc(message, createKeyRing(resolveDns), now());
  if (arc.result !== 'pass' || arc.domain !== SEALER) return null;
  const results = sets.find((value) => new RegExp(`^i\\s*=\\s*${arc.instances}\\s*;`).test(value));
  return results === undefined ? null : readResults(results);
}

type Form = Parameters<typeof hashBody>[1];
type Algorithm = Parameters<typeof hashBody>[2];

/**
 * Reads the client from sealed results. Rejects results with two client addresses: the sender has put one into a name that the
 * results repeat.
 */
function readResults(results: string): SealedClient | null {
  const [, id] = /^i\s*=\s*\d+\s*;\s*([^\s;]+)\s*;/.exec(results) ?? [];
  const [, address = ''] = REMOTE_IP.exec(results) ?? [];
  if (id !== AUTHSERV_ID || results.split(/smtp\.remote-ip/i).length !== 2 || parseClientIp(address) === null)
    return null;
  const names = [...results.matchAll(/\ssmtp\.helo=([^\s;"()]+)/gi)].map((match) => match[1] ?? '');
  return { clientIp: address, helo: names.length === 1 ? (names[0] ?? null) : null };
}
