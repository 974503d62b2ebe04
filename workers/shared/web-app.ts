/** The web app under `/_/`: static assets with the app's own security policy. Deep links are hash routes. */

/** Scripts and styles come only from our own built assets; never inline, never `'self'` alone (stored objects share the origin locally). */
function contentSecurityPolicy(origin: string, mayBeFramed: boolean): string {
  const assets = `${origin}/_/assets/`;
  return [
    "default-src 'none'",
    `script-src ${assets}`,
    `style-src ${assets}`,
    `font-src ${assets}`,
    `img-src ${assets} blob: data:`,
    "connect-src 'self' https: ws: wss:",
    `manifest-src ${assets}`,
    `worker-src ${origin}/_/`,
    "frame-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    mayBeFramed ? 'frame-ancestors *' : "frame-ancestors 'none'",
  ].join('; ');
}

export async function serveWebApp(request: Request, env: Env): Promise<Response> {
  const url = new URL(request.url);
  if (url.pathname === '/_') return new Response(null, { status: 301, headers: { location: '/_/' } });
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return new Response('Method not allowed', { status: 405, headers: { allow: 'GET, HEAD' } });
  }
  const page = url.pathname.endsWith('/')
    ? `${url.pathname}index.html`
    : /\.[a-z0-9]+$/i.test(url.pathname)
      ? url.pathname
      : `${url.pathname}.html`;
  const asset = await env.ASSETS.fetch(
    new Request(new URL(page, url), { method: request.method, headers: request.headers }),
  );
  const response = new Response(asset.body, asset);
  response.headers.set('x-content-type-options', 'nosniff');
  response.headers.set('referrer-policy', 'no-referrer');
  response.headers.set('cross-origin-opener-policy', 'same-origin');
  response.headers.set(
    'content-security-policy',
    contentSecurityPolicy(url.origin, url.pathname.startsWith('/_/embed')),
  );
  return response;
}
