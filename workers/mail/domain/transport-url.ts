/**
 * Syntax of a transport. Pure.
 * - `email-service`: Cloudflare Email Service, by the binding EMAIL.
 * - `smtp://relay.example:587?tls=required`: SMTP. `tls` is `off`, `opportunistic` (default) or `required`.
 * - `smtps://user:password@relay.example:465`: SMTP inside TLS.
 * User and password are percent-encoded, and are sent only inside TLS.
 */

export type TransportAddress =
  | { readonly kind: 'email-service' }
  | {
      readonly kind: 'smtp';
      readonly hostname: string;
      readonly port: number;
      readonly tls: 'off' | 'opportunistic' | 'required' | 'implicit';
      readonly auth: { readonly user: string; readonly password: string } | null;
    };

/** Workers cannot connect to port 25. Relays also listen on 587 or 465. */
const FORBIDDEN_PORT = 25;
/** Cloudflare's SMTP submission. Its answer 250 does not mean that a message is sent. */
const LOSSY_HOST = /(?:^|\.)mx\.cloudflare\.net$/i;
const TLS_MODES = ['off', 'opportunistic', 'required'] as const;

/** Parses a transport. @returns the address, or a text that says what is wrong with it. */
export function parseTransport(text: string): TransportAddress | string {
  if (text === 'email-service') return { kind: 'email-service' };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'neither email-service nor a URL like smtp://host:587';
  }
  if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') return 'the scheme must be smtp or smtps';
  const isImplicit = url.protocol === 'smtps:';
  const port = Number(url.port || (isImplicit ? 465 : 587));
  if (url.hostname === '') return 'the host is missing';
  if (port === FORBIDDEN_PORT) return 'Workers cannot connect to port 25; use the submission port of a relay';
  if (LOSSY_HOST.test(url.hostname))
    return 'smtp.mx.cloudflare.net answers 250 and drops mail to suppressed addresses; use email-service';
  const mode = url.searchParams.get('tls') ?? 'opportunistic';
  const tls = TLS_MODES.find((known) => known === mode);
  if (!tls) return `tls must be one of ${TLS_MODES.join(', ')}`;
  const [user, password] = [decodePercent(url.username), decodePercent(url.password)];
  if (user === null || password === null) return 'user and password must be percent-encoded';
  if (user !== '' && tls === 'off') return 'a password requires TLS: remove tls=off';
  return {
    kind: 'smtp',
    hostname: url.hostname,
    port,
    tls: isImplicit ? 'implicit' : tls,
    auth: user === '' ? null : { user, password },
  };
}

function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * Adds credentials to a transport.
 * @param transport without credentials.
 * @returns it with user and password, percent-encoded; unchanged if there is no user.
 */
export function withCredentials(transport: string, user: string, password: string): string {
  if (user === '') return transport;
  const encode = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return transport.replace('://', () => `://${encode(user)}:${encode(password)}@`);
}

/** @returns the transport without its password, for display. */
export const hidePassword = (text: string): string => text.replace(/^(\w+:\/\/[^:/@]+):[^@]*@/, '$1:…@');
