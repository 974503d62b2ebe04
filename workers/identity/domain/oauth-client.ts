/**
 * Rules for OAuth clients whose id is the URL of their metadata document
 * (https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/).
 */
import { z } from 'zod';
import { err, ok, type Result } from '../../shared/pure/result.ts';

const documentSchema = z.looseObject({
  client_id: z.string(),
  client_name: z.string().max(1_000).optional(),
  redirect_uris: z.array(z.string().max(2_000)).min(1).max(100),
  token_endpoint_auth_method: z.string().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

const NAME_LENGTH_MAX = 80;
/** Control characters, and invisible ones that could turn the text around. */
const INVISIBLE = /\p{C}/gu;

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

/** Reads the document of a client. @returns why it is refused. */
export function readClientDocument(clientId: string, document: unknown): Result<OAuthClient, string> {
  const parsed = documentSchema.safeParse(document);
  if (!parsed.success) return err('The metadata document lacks client_id or redirect_uris.');
  const { client_id, client_name = '', redirect_uris, ...methods } = parsed.data;
  if (client_id !== clientId) return err('The metadata document names another client_id.');
  const offered = [
    methods.token_endpoint_auth_method ?? 'none',
    ...(methods.token_endpoint_auth_methods_supported ?? []),
  ];
  if (!offered.includes('none')) return err('The client does not offer token_endpoint_auth_method none.');
  const name = client_name.replace(INVISIBLE, '').trim().slice(0, NAME_LENGTH_MAX);
  return ok({ name: name === '' ? new URL(clientId).hostname : name, redirectUris: redirect_uris });
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
