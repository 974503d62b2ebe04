/** Attacks through a browser: stored bytes as pages, service workers, framing, other origins, and headers that are missing. */
import { type Attack, type Reply, send, sendJson, sendSigned } from './attack.ts';
import type { World } from './world.ts';

const lacks =
  (header: string, pattern: RegExp) =>
  (reply: Reply): string | null =>
    pattern.test(String(reply.headers[header])) ? null : `${header} is ${reply.headers[header]}`;
const get = (
  name: string,
  path: string,
  refusal: readonly number[],
  gotThrough: NonNullable<Attack['gotThrough']>,
  headers: Record<string, string> = {},
): Attack => ({
  name,
  attempt: (world) => send(world, 'GET', path, { headers }),
  refusal,
  gotThrough,
});
const withVictim = (
  name: string,
  path: string,
  gotThrough: NonNullable<Attack['gotThrough']>,
  headers: Record<string, string> = {},
): Attack => ({
  name,
  attempt: (world) => sendJson(world, 'GET', path, world.victim.token, undefined, headers),
  refusal: [200],
  isByOwner: true,
  gotThrough,
});
const opensNoOrigin = (reply: Reply): string | null => {
  const origin = reply.headers['access-control-allow-origin'];
  return origin === undefined && reply.headers['access-control-allow-credentials'] === undefined
    ? null
    : `allows ${origin}`;
};

const TYPES = [
  'text/html',
  'image/svg+xml',
  'application/xhtml+xml',
  'text/xml',
  'application/javascript',
  'text/html;charset=utf-7',
];
/** A stored object that is a page with a script, and pretends to belong to this origin. */
const stored = (type: string): Attack => ({
  name: `a stored object of type ${type} as a page of the app`,
  attempt: async (world) => {
    const headers = { 'content-type': type };
    await sendSigned(world, world.alice, 'PUT', '/alice-public/page', { body: '<script>alert(1)</script>', headers });
    return send(world, 'GET', '/alice-public/page');
  },
  refusal: [200],
  gotThrough: (reply) =>
    lacks('content-security-policy', /^sandbox(?!.*allow-(?:scripts|same-origin))/)(reply) ??
    lacks('x-content-type-options', /^nosniff$/)(reply),
});

const PAGES = ['/_/', '/_/mail', '/_/docs', '/_/operator', '/_/storage', '/_/leaderboard'];
const PAGE_RULES: readonly (readonly [string, string, RegExp])[] = [
  ['runs inline scripts', 'content-security-policy', /script-src(?![^;]*'unsafe-(?:inline|eval)')[^;]*;/],
  ['is framed', 'content-security-policy', /frame-ancestors 'none'/],
  ['changes its base', 'content-security-policy', /base-uri 'none'|base-uri 'self'/],
  ['sends its address to other sites', 'referrer-policy', /no-referrer|same-origin/],
  ['is sniffed', 'x-content-type-options', /nosniff/],
];

const WORKERS = ['/alice-public/page', '/v1/health', '/', '/alice-public/sw.js'];
const ORIGINS = ['https://evil.test', 'null'];

export const WEB_ATTACKS: readonly Attack[] = [
  ...TYPES.map(stored),
  ...PAGES.flatMap((page) =>
    PAGE_RULES.map(([what, header, pattern]) =>
      get(`the page ${page} ${what}`, page, [200, 302, 404], lacks(header, pattern), { accept: 'text/html' }),
    ),
  ),
  ...WORKERS.map((path) =>
    get(`a service worker from ${path}`, path, [403], () => null, { 'service-worker': 'script' }),
  ),
  ...['/v1/me', '/v1/folders', '/v1/me/sessions'].flatMap((path) => [
    withVictim(`${path} kept in a cache`, path, lacks('cache-control', /no-store/)),
    withVictim(`${path} sniffed`, path, lacks('x-content-type-options', /nosniff/)),
    withVictim(`${path} embedded by another site`, path, lacks('cross-origin-resource-policy', /same-/)),
    ...ORIGINS.map((origin) => withVictim(`${path} read by the origin ${origin}`, path, opensNoOrigin, { origin })),
  ]),
  ...ORIGINS.map(
    (origin): Attack => ({
      name: `a preflight of ${origin} for a profile`,
      attempt: (world) =>
        send(world, 'OPTIONS', '/v1/me', {
          headers: {
            origin,
            'access-control-request-method': 'DELETE',
            'access-control-request-headers': 'authorization',
          },
        }),
      refusal: [200, 204, 400, 401, 403, 404, 405],
      gotThrough: opensNoOrigin,
    }),
  ),
  {
    name: 'credentials allowed to any origin on public scores',
    attempt: (world) => send(world, 'GET', '/v1/scores', { headers: { origin: 'https://evil.test' } }),
    refusal: [200],
    gotThrough: ({ headers }) => (headers['access-control-allow-credentials'] ? 'credentials are allowed' : null),
  },
  {
    name: 'another origin on a bucket without rules',
    attempt: (world: World) =>
      send(world, 'GET', '/alice-public/open/hello.txt', { headers: { origin: 'https://evil.test' } }),
    refusal: [200],
    gotThrough: opensNoOrigin,
  },
  ...[
    '/_/../v1/iam/users',
    '/_/..%2fv1/iam/users',
    '/_/%2e%2e/%2e%2e/etc/passwd',
    '/_/assets/../../wrangler.toml',
    '/_/assets/..%2f..%2f.dev.vars',
    '/_//evil.test',
    '/_/.git/config',
    '/.dev.vars',
    '/.git/config',
    '/_/assets/%00',
  ].map(
    (path): Attack => ({
      name: `the file ${path}`,
      attempt: (world) => send(world, 'GET', path),
      refusal: [200, 301, 302, 308, 400, 401, 403, 404],
      gotThrough: ({ status, text, headers }, world) => {
        if (/evil\.test/.test(String(headers.location)) && !String(headers.location).startsWith('/'))
          return `redirects to ${headers.location}`;
        if (text.includes(world.server.rootToken) || /MASTER_KEY|database_id|root:x/.test(text))
          return text.slice(0, 200);
        return status === 200 && !/<html/i.test(text) ? text.slice(0, 200) : null;
      },
    }),
  ),
  ...['//evil.test', '/\\evil.test', '/%0d%0aSet-Cookie:a=b', '/?next=https://evil.test'].map(
    (path): Attack => ({
      name: `an open redirect through ${path}`,
      attempt: (world) => send(world, 'GET', path, { headers: { accept: 'text/html' } }),
      refusal: [302, 400, 403, 404],
      gotThrough: ({ headers }) =>
        /evil\.test/.test(String(headers.location)) || headers['set-cookie'] ? JSON.stringify(headers) : null,
    }),
  ),
  {
    name: 'markup in the detail of an error',
    attempt: (world) =>
      send(world, 'GET', '/v1/%3Cscript%3Ealert(1)%3C/script%3E', { headers: { accept: 'text/html' } }),
    refusal: [404],
    gotThrough: ({ headers }) =>
      /html/.test(String(headers['content-type'])) ? String(headers['content-type']) : null,
  },
  {
    name: 'markup in an error of storage',
    attempt: (world) => send(world, 'GET', '/no-such-bucket/%3Cscript%3Ealert(1)%3C/script%3E'),
    refusal: [403, 404],
    gotThrough: ({ text }) => (/<script>/.test(text) ? text : null),
  },
  {
    name: 'a request id with a line break or markup',
    attempt: (world) => send(world, 'GET', '/v1/health', { headers: { 'x-request-id': '<script>' } }),
    refusal: [200],
    gotThrough: ({ headers }) =>
      String(headers['x-request-id']).includes('<') ? String(headers['x-request-id']) : null,
  },
];
