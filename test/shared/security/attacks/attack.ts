/** The type of an attack, and how attacks send requests. Requests are raw: no client normalizes the path or adds headers. */
import type { Credentials } from '../../../support/storage/s3-client.ts';
import { sendRaw } from '../../../support/storage/s3-raw.ts';
import { signLink, signRequest } from '../../../support/storage/sigv4-signer.ts';
import type { World } from './world.ts';

/** Text in every private place of the victims. If an answer to an attacker contains it, data has leaked. */
export const SECRET = 'the-private-bytes-of-alice';

export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Attack {
  readonly name: string;
  readonly attempt: (world: World) => Promise<Reply>;
  /**
   * Statuses that count as a refusal. With a 2xx status, the attack is accepted but must have no effect, which `gotThrough` checks.
   */
  readonly refusal: readonly number[];
  /** Whether the caller may read the secret, because the attack runs in its owner's browser or on a copy that the owner made. */
  readonly isByOwner?: true;
  /** Checks for effects of an attack whose status is as expected. @returns what the attack achieved, or null for nothing. */
  readonly gotThrough?: (reply: Reply, world: World) => string | null | Promise<string | null>;
}

/** A legitimate request that resembles attacks. If it fails, refusals of the attacks prove nothing. */
export interface Control {
  readonly name: string;
  readonly attempt: (world: World) => Promise<Reply>;
  readonly accepted: number;
}

export interface RequestParts {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Sends a request unchanged and adds no credential. */
export async function send(world: World, method: string, path: string, parts: RequestParts = {}): Promise<Reply> {
  const size = parts.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(parts.body)) };
  const { status, headers, body } = await sendRaw(
    world.server.url,
    method,
    path,
    { ...size, ...parts.headers },
    parts.body,
  );
  return { status, headers, text: body.toString() };
}

/** Sends JSON with a bearer token, or with none if it is null. A string body is sent as it is. */
export function sendJson(
  world: World,
  method: string,
  path: string,
  token: string | null,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return send(world, method, path, {
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

interface SignedParts extends RequestParts {
  /** Time of the signature in milliseconds since 1970 UTC. Default: now. */
  readonly signedAt?: number;
  /** Changes the request after it was signed, so that the signature no longer fits. */
  readonly tamper?: (
    target: string,
    headers: Readonly<Record<string, string>>,
  ) => { target?: string; headers?: Record<string, string>; method?: string };
}

/** Signs a request in its header, changes it, and sends it. The signature covers `headers`. */
export function sendSigned(
  world: World,
  credentials: Credentials,
  method: string,
  path: string,
  parts: SignedParts = {},
): Promise<Reply> {
  const signed = signRequest({ url: world.server.url, credentials, method, path, ...parts });
  const changed = parts.tamper?.(signed.target, signed.headers) ?? {};
  return send(world, changed.method ?? method, changed.target ?? signed.target, {
    headers: changed.headers ?? signed.headers,
    ...(parts.body === undefined ? {} : { body: parts.body }),
  });
}

/** Presigns a link for an hour, changes it, and sends it. The signature does not cover the headers. */
export function sendLink(
  world: World,
  credentials: Credentials,
  method: string,
  path: string,
  change: (link: string) => string = (link) => link,
  parts: RequestParts & { readonly signedAt?: number; readonly sendAs?: string } = {},
): Promise<Reply> {
  const { query, signedAt } = parts;
  const link = signLink({
    url: world.server.url,
    credentials,
    method,
    path,
    ...(query ? { query } : {}),
    ...(signedAt ? { signedAt } : {}),
  });
  return send(world, parts.sendAs ?? method, change(link), {
    ...(parts.headers ? { headers: parts.headers } : {}),
    ...(parts.body === undefined ? {} : { body: parts.body }),
  });
}

/** Parses a JSON answer. @returns its body, or an empty object if it is not JSON. */
// biome-ignore lint/suspicious/noExplicitAny: answers of any route; each attack reads the members that it needs
export const parsed = (reply: Reply): any => (/^[[{]/.test(reply.text) ? JSON.parse(reply.text) : {});
