/** Headers that keep the answers of `/v1` out of caches and out of the pages of other sites. */

/**
 * Adds `X-Content-Type-Options`, `Cross-Origin-Resource-Policy` and `Cache-Control: no-store`. Keeps a `Cache-Control` that the
 * route set. Answers with CORS `*` are for every page, so their resource policy is `cross-origin`. Idempotent.
 */
export function addApiHeaders(headers: Headers): void {
  const isPublic = headers.get('access-control-allow-origin') === '*';
  headers.set('x-content-type-options', 'nosniff');
  headers.set('cross-origin-resource-policy', isPublic ? 'cross-origin' : 'same-origin');
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
}
