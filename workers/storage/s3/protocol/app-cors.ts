/**
 * Cross-origin access for the web app, which has another host than storage (`APP_HOST`, `S3_HOST`). Only signed requests get it,
 * and never with cookies, so the app has only the rights of the key in its tab.
 */
import { parseRequestHeaders } from '../../domain/cors.ts';

const MAX_AGE_SECONDS = 3600;
const METHODS = 'GET, HEAD, PUT, POST, DELETE';

/**
 * Whether an origin is that of the web app.
 * @param url URL of the request. Over plain HTTP, which means loopback, the app may use any port of its host.
 */
export function isAppOrigin(origin: string, appHost: string, url: string): boolean {
  if (appHost === '') return false;
  if (url.startsWith('https:')) return origin === `https://${appHost}`;
  return origin === `http://${appHost}` || (origin.startsWith(`http://${appHost}:`) && /:\d+$/.test(origin));
}

/**
 * CORS headers of an answer to the web app. @returns null for a request that is not signed, and for the preflight of such a
 * request. The bucket's own rules apply to these.
 */
export function toAppCorsHeaders(
  request: { readonly method: string; readonly url: string; readonly headers: Headers },
  origin: string,
): Record<string, string> | null {
  const { headers, method, url } = request;
  const asked = parseRequestHeaders(headers.get('access-control-request-headers'));
  const isSigned = method === 'OPTIONS' ? asked.includes('authorization') : headers.has('authorization');
  if (!isSigned && !/[?&]X-Amz-Signature=/.test(url)) return null;
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': METHODS,
    'access-control-expose-headers': '*',
    'access-control-max-age': String(MAX_AGE_SECONDS),
    vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method',
    ...(asked.length > 0 ? { 'access-control-allow-headers': asked.join(', ') } : {}),
  };
}
