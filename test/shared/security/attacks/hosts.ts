/** Attacks that use a host of storage for routes of the app, or the reverse. The server has both kinds of hosts. */
import { type Attack, send, sendJson } from './attack.ts';

const APP = 'app.local';
const BUCKETS = 's3.local';

const onHost = (
  name: string,
  host: string,
  path: string,
  refusal: readonly number[],
  headers: Record<string, string> = {},
): Attack => ({
  name,
  attempt: (world) => send(world, 'GET', path, { headers: { host, ...headers } }),
  refusal,
});

export const HOST_ATTACKS: readonly Attack[] = [
  onHost('an object read on the host of the app', APP, '/alice-public/open/hello.txt', [302, 400, 403, 404]),
  ...[BUCKETS, 'other.test', `alice-public.${BUCKETS}`].flatMap((host) =>
    ['/v1/health', '/_/', '/_/mail', '/v1/openapi.json'].map((path) =>
      onHost(`${path} on the host ${host}`, host, path, [400, 403, 404]),
    ),
  ),
  {
    name: 'the root token on the host of storage',
    attempt: (world) => sendJson(world, 'GET', '/v1/iam/users', world.server.rootToken, undefined, { host: BUCKETS }),
    refusal: [400, 401, 403, 404],
  },
  {
    name: 'the session cookie on the host of storage',
    attempt: (world) => send(world, 'GET', '/v1/me', { headers: { host: BUCKETS, cookie: world.victim.cookie } }),
    refusal: [400, 401, 403, 404],
  },
  ...['https://s3.local', 'http://alice-public.s3.local', 'http://app.local.evil.test', 'http://evil-app.local'].map(
    (origin): Attack => ({
      name: `a write with the cookie from the origin ${origin}`,
      attempt: (world) =>
        send(world, 'PATCH', '/v1/me', {
          headers: { host: APP, origin, cookie: world.victim.cookie, 'content-type': 'application/json' },
          body: '{"name":"forged"}',
        }),
      refusal: [401, 403],
    }),
  ),
  onHost('the private bucket on its own host', `alice-private.${BUCKETS}`, '/secret.txt', [403]),
  onHost('a bucket named in two ways', `mallory-own.${BUCKETS}`, '/../alice-private/secret.txt', [400, 403, 404]),
  onHost('x-forwarded-host with the host of the app', BUCKETS, '/v1/iam/users', [400, 403, 404], {
    'x-forwarded-host': APP,
  }),
  onHost('the host of the app with a dot at its end', `${APP}.`, '/alice-private/secret.txt', [400, 403, 404]),
  onHost(
    'the host of the app in upper case, for storage',
    APP.toUpperCase(),
    '/alice-private/secret.txt',
    [400, 403, 404],
  ),
];
