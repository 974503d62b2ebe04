/** Attacks on SigV4: signatures that are missing, foreign, old, or of another request. */
import { createHmac } from 'node:crypto';
import { type Attack, type Reply, send, sendLink, sendSigned } from './attack.ts';
import type { World } from './world.ts';

const OBJECT = '/alice-private/secret.txt';
const HOUR = 3_600_000;
const DENIED = [400, 403];

/** A GET request for the secret that alice signed and that is changed afterwards. */
const changedHeader = (name: string, change: (headers: Record<string, string>) => void, path = OBJECT): Attack => ({
  name,
  attempt: (world) =>
    sendSigned(world, world.alice, 'GET', path, {
      tamper: (_, signed) => {
        const headers = { ...signed };
        change(headers);
        return { headers };
      },
    }),
  refusal: DENIED,
});
const replaceIn = (from: string | RegExp, to: string) => (headers: Record<string, string>) => {
  headers.authorization = (headers.authorization ?? '').replace(from, to);
};

const changedLink = (name: string, change: (link: string) => string): Attack => ({
  name: `a link ${name}`,
  attempt: (world) => sendLink(world, world.alice, 'GET', OBJECT, change),
  refusal: DENIED,
});
const without = (parameter: string) => (link: string) =>
  link.replace(new RegExp(`[?&]${parameter}=[^&]*`), (part) => (part[0] === '?' ? '?x=' : ''));

/** Headers that change what a signed PUT does, added after it was signed. */
const ADDED: Readonly<Record<string, string>> = {
  'x-amz-acl': 'public-read',
  'x-amz-meta-injected': 'yes',
  'x-meta-injected': 'yes',
  'x-amz-copy-source': '/alice-private/secret.txt',
  'x-amz-tagging': 'a=b',
  'x-amz-storage-class': 'GLACIER',
  'x-amz-website-redirect-location': 'https://evil.test/',
  'x-amz-object-lock-mode': 'COMPLIANCE',
  'x-amz-grant-read': 'uri="http://acs.amazonaws.com/groups/global/AllUsers"',
  'x-amz-server-side-encryption-customer-algorithm': 'AES256',
};

const signedPut = (name: string, value: string): Attack => ({
  name: `unsigned ${name} on a PUT that is signed in the header`,
  attempt: (world) =>
    sendSigned(world, world.alice, 'PUT', '/alice-private/new.txt', {
      body: 'x',
      tamper: (_, headers) => ({ headers: { ...headers, [name]: value } }),
    }),
  refusal: DENIED,
});
const linkedPut = (name: string, value: string): Attack => ({
  name: `unsigned ${name} on a presigned PUT`,
  attempt: (world) =>
    sendLink(world, world.alice, 'PUT', '/alice-private/new.txt', undefined, { body: 'x', headers: { [name]: value } }),
  refusal: DENIED,
});

/** Makes a link in the form of SigV2, as older versions of `aws s3 presign` did. @returns the link. */
function sendVersion2Link(world: World, secret: string, path: string, expires: number, extra = ''): Promise<Reply> {
  const text = `GET\n\n\n${expires}\n/alice-private/secret.txt`;
  const signature = encodeURIComponent(createHmac('sha1', secret).update(text).digest('base64'));
  const query = `AWSAccessKeyId=${world.alice.accessKeyId}&Expires=${expires}&Signature=${signature}${extra}`;
  return send(world, 'GET', `${path}?${query}`);
}
const inAnHour = () => Math.floor((Date.now() + HOUR) / 1000);

export const SIGNATURE_ATTACKS: readonly Attack[] = [
  changedHeader('a signature of zeros', replaceIn(/Signature=\w+/, `Signature=${'0'.repeat(64)}`)),
  changedHeader('an empty signature', replaceIn(/Signature=\w+/, 'Signature=')),
  changedHeader('a signature that is removed', replaceIn(/,Signature=\w+/, '')),
  changedHeader('a signature in upper case with one more digit', replaceIn(/Signature=(\w+)/, 'Signature=$1A')),
  changedHeader('no signed headers', replaceIn(/SignedHeaders=[^,]+/, 'SignedHeaders=')),
  changedHeader('host left out of the signed headers', replaceIn('SignedHeaders=host;', 'SignedHeaders=')),
  changedHeader('another date in the scope', replaceIn(/\/\d{8}\//, '/20200101/')),
  changedHeader('another service in the scope', replaceIn('/s3/', '/ec2/')),
  changedHeader('another terminator in the scope', replaceIn('aws4_request', 'aws5_request')),
  changedHeader('another algorithm', replaceIn('AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA1')),
  changedHeader('the algorithm none', replaceIn('AWS4-HMAC-SHA256', 'none')),
  changedHeader('another region after signing', replaceIn('/us-east-1/', '/eu-west-1/')),
  changedHeader('another date header after signing', (headers) => {
    headers['x-amz-date'] = '20300101T000000Z';
  }),
  changedHeader('no date', (headers) => {
    delete headers['x-amz-date'];
  }),
  changedHeader('another host after signing', (headers) => {
    headers.host = 'evil.test';
  }),
  changedHeader('another payload hash after signing', (headers) => {
    headers['x-amz-content-sha256'] = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  }),
  changedHeader('a bare access key', (headers) => {
    headers.authorization = 'AWS AKIAEXAMPLE:';
  }),
  changedHeader('an empty Authorization header', (headers) => {
    headers.authorization = '';
  }),
  changedHeader('the scheme Basic with the access key', (headers) => {
    headers.authorization = `Basic ${Buffer.from('alice:alice').toString('base64')}`;
  }),
  ...['PUT', 'DELETE', 'POST'].map(
    (method): Attack => ({
      name: `a signature for GET used for ${method}`,
      attempt: (world) => sendSigned(world, world.alice, 'GET', OBJECT, { body: '', tamper: () => ({ method }) }),
      refusal: [400, 403, 405],
    }),
  ),
  {
    name: 'a signature for another object of the same bucket',
    attempt: (world) =>
      sendSigned(world, world.alice, 'GET', '/alice-private/other.txt', { tamper: () => ({ target: OBJECT }) }),
    refusal: DENIED,
  },
  ...['?acl=', '?policy=', '?versionId=null', '?tagging=', '?uploads='].map(
    (query): Attack => ({
      name: `${query} added to a signed path`,
      attempt: (world) =>
        sendSigned(world, world.alice, 'GET', OBJECT, { tamper: (target) => ({ target: target + query }) }),
      refusal: [400, 403, 405],
    }),
  ),
  ...[-25 * HOUR, -16 * 60_000, 16 * 60_000, 25 * HOUR].map(
    (shift): Attack => ({
      name: `a request signed ${shift / 60_000} minutes from now`,
      attempt: (world) => sendSigned(world, world.alice, 'GET', OBJECT, { signedAt: Date.now() + shift }),
      refusal: DENIED,
    }),
  ),
  ...Object.entries(ADDED).flatMap(([name, value]) => [signedPut(name, value), linkedPut(name, value)]),
  {
    name: 'a link that expired',
    attempt: (world) =>
      sendLink(world, world.alice, 'GET', OBJECT, undefined, { signedAt: Date.now() - HOUR - 60_000 }),
    refusal: DENIED,
  },
  {
    name: 'a link of tomorrow',
    attempt: (world) => sendLink(world, world.alice, 'GET', OBJECT, undefined, { signedAt: Date.now() + 24 * HOUR }),
    refusal: DENIED,
  },
  changedLink('made longer than an hour', (link) => link.replace('Expires=3600', 'Expires=36000')),
  changedLink('of eight days', (link) => link.replace('Expires=3600', 'Expires=691200')),
  changedLink('with a negative life', (link) => link.replace('Expires=3600', 'Expires=-1')),
  changedLink('with a life that is not a number', (link) => link.replace('Expires=3600', 'Expires=1e9')),
  changedLink('with two lives', (link) => `${link}&X-Amz-Expires=604800`),
  changedLink('with two signatures, both wrong', (link) =>
    link.replace(/Signature=\w+/, (good) => `${good}0&X-Amz-Signature=${'0'.repeat(64)}`),
  ),
  changedLink(
    'of another object, with a second signature',
    (link) => `${link.replace(OBJECT, '/alice-private/a-b/secret.txt')}&X-Amz-Signature=${'0'.repeat(64)}`,
  ),
  changedLink('without its life', without('X-Amz-Expires')),
  changedLink('without its signature', without('X-Amz-Signature')),
  changedLink('without its date', without('X-Amz-Date')),
  changedLink('without its credential', without('X-Amz-Credential')),
  changedLink('without its algorithm', without('X-Amz-Algorithm')),
  changedLink('without its signed headers', without('X-Amz-SignedHeaders')),
  changedLink('of another object', (link) => link.replace(OBJECT, '/alice-private/a-b/secret.txt')),
  changedLink('of another bucket', (link) => link.replace('/alice-private/', '/alice-versions/')),
  changedLink('with a subresource added', (link) => `${link}&acl=`),
  changedLink('with another content type for the answer', (link) => `${link}&response-content-type=text%2Fhtml`),
  changedLink('with names in lower case', (link) => link.replaceAll('X-Amz-', 'x-amz-')),
  ...['PUT', 'DELETE'].map(
    (sendAs): Attack => ({
      name: `a link for GET used for ${sendAs}`,
      attempt: (world) => sendLink(world, world.alice, 'GET', OBJECT, undefined, { sendAs, body: '' }),
      refusal: DENIED,
    }),
  ),
  {
    name: 'a link with a session cookie beside it, signed by nobody',
    attempt: (world) =>
      sendLink(world, { ...world.alice, secretAccessKey: 'guess' }, 'GET', OBJECT, undefined, {
        headers: { cookie: world.victim.cookie },
      }),
    refusal: DENIED,
  },
  {
    name: "alice's access key with mallory's secret",
    attempt: (world) =>
      sendSigned(
        world,
        { accessKeyId: world.alice.accessKeyId, secretAccessKey: world.mallory.secretAccessKey },
        'GET',
        OBJECT,
      ),
    refusal: [403],
  },
  {
    name: 'an access key that does not exist',
    attempt: (world) => sendSigned(world, { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x' }, 'GET', OBJECT),
    refusal: [403],
  },
  {
    name: 'an empty secret',
    attempt: (world) => sendSigned(world, { accessKeyId: world.alice.accessKeyId, secretAccessKey: '' }, 'GET', OBJECT),
    refusal: [403],
  },
  ...(['revokedKey', 'expiredKey', 'suspendedKey'] as const).flatMap((key): Attack[] => {
    const bucket = key === 'suspendedKey' ? '/gone-bucket' : OBJECT;
    return [
      { name: `${key} in a header`, attempt: (world) => sendSigned(world, world[key], 'GET', bucket), refusal: [403] },
      { name: `${key} in a link`, attempt: (world) => sendLink(world, world[key], 'GET', bucket), refusal: [403] },
    ];
  }),
  ...['prefix=a%2Bb', 'prefix=a+b'].map(
    (query, i): Attack => ({
      name: `a signed plus read as a space, form ${i}`,
      attempt: (world) =>
        sendLink(world, world.alice, 'GET', '/alice-private', (link) => link.replace('prefix=a%2Bb', query), {
          query: { prefix: 'a+b' },
        }),
      refusal: i === 0 ? [200] : [403],
      gotThrough: ({ text }) => (text.includes('a b') ? `lists "a b": ${text}` : null),
    }),
  ),
  {
    name: 'a SigV2 link that expired',
    attempt: (world) => sendVersion2Link(world, world.alice.secretAccessKey, OBJECT, 1_700_000_000),
    refusal: [403],
  },
  {
    name: 'a SigV2 link with a foreign secret',
    attempt: (world) => sendVersion2Link(world, world.mallory.secretAccessKey, OBJECT, inAnHour()),
    refusal: [403],
  },
  {
    name: 'a SigV2 link moved to another object',
    attempt: (world) =>
      sendVersion2Link(world, world.alice.secretAccessKey, '/alice-private/a-b/secret.txt', inAnHour()),
    refusal: [403],
  },
  {
    name: 'a SigV2 link with a subresource added',
    attempt: (world) => sendVersion2Link(world, world.alice.secretAccessKey, OBJECT, inAnHour(), '&acl='),
    refusal: [403],
  },
  {
    name: 'a header and a link at once, of different users',
    attempt: (world) =>
      sendSigned(world, world.mallory, 'GET', OBJECT, {
        tamper: (target, headers) => ({
          target: `${target}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=${'0'.repeat(64)}`,
          headers: { ...headers },
        }),
      }),
    refusal: DENIED,
  },
];
