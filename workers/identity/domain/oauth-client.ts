/**
 * Rules for OAuth clients whose id is the URL of their metadata document
 * (https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/).
 */

/** A client, as its document describes it. Nothing of it is proven but that its host published it. */
export interface OAuthClient {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/**
 * Whether a client id has the form of the specification: the normal form of an HTTPS URL with a path, without a fragment.
 * The caller checks that its host is public.
 */
export function isClientIdForm(clientId: string): boolean {
  if (!URL.canParse(clientId)) return false;
  const { href, pathname, hash, username, password } = new URL(clientId);
  return href === clientId && pathname !== '/' && hash === '' && !clientId.includes('#') && username + password === '';
}

/** A redirect to a program on the person's own device (RFC 8252 §7.3). */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(\/[^#]*)?$/;

/** @returns a loopback URI without its port, which a program chooses each time; null for other URIs. */
function withoutPort(uri: string): string | null {
  const [matches, host, path = ''] = LOOPBACK.exec(uri) ?? [];
  // A port above 65,535 has the form of one.
  return matches === undefined || !URL.canParse(uri) ? null : `${host}${path}`;
}

export const isLoopback = (uri: string): boolean => LOOPBACK.test(uri);

function isHttps(uri: string): boolean {
  if (!URL.canParse(uri)) return false;
  const { protocol, hash, username, password } = new URL(uri);
  return protocol === 'https:' && hash === '' && username + password === '';
}

/** Whether a client may be answered at a URI: exactly one of its own, or one on loopback with any port. */
export function isRedirectOf({ redirectUris }: OAuthClient, uri: string): boolean {
  const local = withoutPort(uri);
  if (local !== null) return redirectUris.some((each) => withoutPort(each) === local);
  return isHttps(uri) && redirectUris.includes(uri);
}
