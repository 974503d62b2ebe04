/**
 * HTTPS only, in production. With `APP_HOST` set, plain HTTP gets a redirect or a refusal on every host, and every answer
 * over HTTPS has `Strict-Transport-Security` (RFC 6797). A local server has no TLS, so `LOCAL` switches this off.
 *
 * By design: storage hosts are included, although S3 itself also answers over HTTP. A bearer token may open storage too,
 * and a redirected GET keeps its signature, because SigV4 does not sign the scheme. HSTS has no `includeSubDomains`: hosts
 * below `APP_HOST` may belong to others.
 */
import { settingProblemsOf, settingsOf } from '../settings/settings.ts';

const YEAR_SECONDS = 31_536_000;
const STRICT_TRANSPORT = `max-age=${YEAR_SECONDS}`;

/**
 * Whether only HTTPS is allowed. Never throws, so that health can report a bad setting. With a bad `APP_HOST` only health answers.
 * A bad `LOCAL` counts as production.
 */
function isRequired(env: Env): boolean {
  const isBad = (setting: string) => settingProblemsOf(env).some(({ name }) => name === setting);
  if (isBad('APP_HOST') || settingsOf(env).APP_HOST === '') return false;
  return isBad('LOCAL') || settingsOf(env).LOCAL !== '1';
}

/**
 * Decides what to do with a request. If only HTTPS is allowed, a read over plain HTTP gets `redirect`, any other request over plain
 * HTTP `refuse`.
 */
export function decideTransport({ method, url }: Request, env: Env): 'serve' | 'redirect' | 'refuse' {
  if (url.startsWith('https:') || !isRequired(env)) return 'serve';
  return method === 'GET' || method === 'HEAD' ? 'redirect' : 'refuse';
}

/** Redirects with 308 to the same target over HTTPS, on the default port. The target is kept as it was sent. */
export function redirectToHttps(url: string): Response {
  const location = url.replace(/^http:\/\/([^/?#]*?)(?::\d+)?(?=[/?#]|$)/, 'https://$1');
  const headers = { location, 'cache-control': 'no-store', 'x-request-id': crypto.randomUUID() };
  return new Response(null, { status: 308, headers });
}

/**
 * Adds `Strict-Transport-Security`. Does nothing over plain HTTP, where browsers ignore it, and for a WebSocket, whose
 * headers are immutable.
 */
export function addStrictTransport(response: Response, { url }: Request, env: Env): void {
  if (response.status === 101 || !url.startsWith('https:') || !isRequired(env)) return;
  response.headers.set('strict-transport-security', STRICT_TRANSPORT);
}
