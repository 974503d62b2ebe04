/** Attacks by a user with a valid key, and by anonymous clients, on the buckets and objects of another user. */
import { type Attack, SECRET, send, sendJson, sendSigned } from './attack.ts';
import { allow, type World } from './world.ts';

const NOT_FOUND_OR_DENIED = [400, 403, 404];
const ALL_USERS = 'http://acs.amazonaws.com/groups/global/AllUsers';

type Way = readonly [name: string, method: string, path: string, query?: Record<string, string>, body?: string];

const deletion = '<Delete><Object><Key>secret.txt</Key></Object></Delete>';
/** Operations that mallory tries on a bucket of another user. */
const WAYS: readonly Way[] = [
  ['read an object', 'GET', '/alice-private/secret.txt'],
  ['read the head of an object', 'HEAD', '/alice-private/secret.txt'],
  ['list the bucket', 'GET', '/alice-private', { 'list-type': '2' }],
  ['list the versions', 'GET', '/alice-versions', { versions: '' }],
  ['list the uploads', 'GET', '/alice-private', { uploads: '' }],
  ['read the policy', 'GET', '/alice-partly', { policy: '' }],
  ['read the ACL of the bucket', 'GET', '/alice-private', { acl: '' }],
  ['read the ACL of an object', 'GET', '/alice-private/secret.txt', { acl: '' }],
  ['read the tags of an object', 'GET', '/alice-private/secret.txt', { tagging: '' }],
  ['read the attributes of an object', 'GET', '/alice-private/secret.txt', { attributes: '' }],
  ['write an object', 'PUT', '/alice-private/secret.txt', {}, 'overwritten'],
  ['delete an object', 'DELETE', '/alice-private/secret.txt'],
  ['delete the bucket', 'DELETE', '/alice-private'],
  ['take the bucket', 'PUT', '/alice-private', {}, ''],
  ['delete many objects', 'POST', '/alice-private', { delete: '' }, deletion],
  ['begin an upload', 'POST', '/alice-private/big', { uploads: '' }, ''],
  ['set a policy', 'PUT', '/alice-private', { policy: '' }, allow('*', 's3:*', 'arn:aws:s3:::alice-private/*')],
  ['delete the policy', 'DELETE', '/alice-partly', { policy: '' }],
  [
    'suspend the versions',
    'PUT',
    '/alice-versions',
    { versioning: '' },
    '<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>',
  ],
  [
    'set a lifecycle',
    'PUT',
    '/alice-private',
    { lifecycle: '' },
    '<LifecycleConfiguration><Rule><ID>a</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>',
  ],
  [
    'open it to other origins',
    'PUT',
    '/alice-private',
    { cors: '' },
    '<CORSConfiguration><CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>',
  ],
  ['lift the public access block', 'DELETE', '/alice-private', { publicAccessBlock: '' }],
  [
    'set the tags of an object',
    'PUT',
    '/alice-private/secret.txt',
    { tagging: '' },
    '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>',
  ],
];

const asMallory = ([name, method, path, query = {}, body]: Way): Attack => ({
  name: `another user tries to ${name}`,
  attempt: (world) =>
    sendSigned(world, world.mallory, method, path, { query, ...(body === undefined ? {} : { body }) }),
  refusal: name === 'take the bucket' ? [409] : [403, ...(body?.startsWith('<') || body?.startsWith('{') ? [400] : [])],
});
const asNobody = ([name, method, path, query = {}, body]: Way): Attack => ({
  name: `an anonymous client tries to ${name}`,
  attempt: (world) => {
    const search = new URLSearchParams(query).toString();
    return send(world, method, search ? `${path}?${search}` : path, body === undefined ? {} : { body });
  },
  refusal: [400, 403],
});

/** Paths that a server might normalize after authorization. Mallory signs them unchanged. */
const PATHS = [
  '/mallory-own/../alice-private/secret.txt',
  '/mallory-own/%2e%2e/alice-private/secret.txt',
  '/mallory-own/..%2falice-private/secret.txt',
  '/mallory-own/%2e%2e%2falice-private%2fsecret.txt',
  '/mallory-own/./../alice-private/secret.txt',
  '//alice-private/secret.txt',
  '/./alice-private/secret.txt',
  '/mallory-own//../../alice-private/secret.txt',
  '/mallory-own%2f..%2falice-private/secret.txt',
  '/alice-private%00/secret.txt',
  '/alice-private%2fsecret.txt',
  '/ALICE-PRIVATE/secret.txt',
  '/mallory-own\\..\\alice-private/secret.txt',
  '/alice-partly/open/../openly-not/secret.txt',
  '/alice-partly/open/%2e%2e/openly-not/secret.txt',
  '/alice-partly/open%2f..%2fopenly-not%2fsecret.txt',
  '/alice-partly/open/%252e%252e/secret.txt',
  '/alice-partly/openly-not/secret.txt',
  '/alice-partly//open/../secret.txt',
  '/alice-partly/OPEN/hello.txt',
];

const COPY_SOURCES = [
  '/alice-private/secret.txt',
  'alice-private/secret.txt',
  '/alice-private%2Fsecret.txt',
  '/mallory-own/../alice-private/secret.txt',
  '//alice-private/secret.txt',
  'arn:aws:s3:::alice-private/secret.txt',
  '/alice-partly/openly-not/secret.txt',
];

const OWNED = (world: World, xml: string) =>
  `<AccessControlPolicy><Owner><ID>${world.mallory.userId}</ID></Owner><AccessControlList>${xml}</AccessControlList></AccessControlPolicy>`;

/** Checks that nothing changed, for attacks whose answer looks like success. */
const readsBack = async (_: unknown, world: World): Promise<string | null> => {
  const { status, text } = await sendSigned(world, world.alice, 'GET', '/alice-private/secret.txt');
  return status === 200 && text === SECRET ? null : `the object of alice is now ${status} ${text}`;
};

export const ACCESS_ATTACKS: readonly Attack[] = [
  ...WAYS.map(asMallory).map((attack) => ({ ...attack, gotThrough: readsBack })),
  ...WAYS.map(asNobody),
  ...PATHS.map(
    (path): Attack => ({
      name: `the path ${path}`,
      attempt: (world) => sendSigned(world, world.mallory, 'GET', path),
      refusal: NOT_FOUND_OR_DENIED,
    }),
  ),
  ...COPY_SOURCES.flatMap((source): Attack[] => [
    {
      name: `a copy from ${source}`,
      attempt: (world) =>
        sendSigned(world, world.mallory, 'PUT', '/mallory-own/stolen.txt', {
          headers: { 'x-amz-copy-source': source },
          body: '',
        }),
      refusal: NOT_FOUND_OR_DENIED,
      gotThrough: async (_, world) => {
        const { status } = await sendSigned(world, world.mallory, 'GET', '/mallory-own/stolen.txt');
        return status === 404 ? null : `the copy exists: ${status}`;
      },
    },
  ]),
  {
    name: 'a copy of an old version of another user',
    attempt: (world) =>
      sendSigned(world, world.mallory, 'PUT', '/mallory-own/stolen.txt', {
        headers: { 'x-amz-copy-source': `/alice-versions/secret.txt?versionId=${world.versionId}` },
        body: '',
      }),
    refusal: NOT_FOUND_OR_DENIED,
  },
  {
    name: 'a part copied from a private source',
    attempt: async (world) => {
      const query = { uploads: '' };
      const begun = await sendSigned(world, world.mallory, 'POST', '/mallory-own/parts', { query, body: '' });
      const uploadId = /<UploadId>(.*?)</.exec(begun.text)?.[1] ?? '';
      return sendSigned(world, world.mallory, 'PUT', '/mallory-own/parts', {
        query: { partNumber: '1', uploadId },
        headers: { 'x-amz-copy-source': '/alice-private/secret.txt' },
        body: '',
      });
    },
    refusal: [403],
  },
  ...['GET', 'DELETE', 'HEAD'].map(
    (method): Attack => ({
      name: `${method} of a version of another user`,
      attempt: (world) =>
        sendSigned(world, world.mallory, method, '/alice-versions/secret.txt', {
          query: { versionId: world.versionId },
        }),
      refusal: [403],
    }),
  ),
  {
    name: "a version of another user read through mallory's bucket",
    attempt: (world) =>
      sendSigned(world, world.mallory, 'GET', '/mallory-own/secret.txt', { query: { versionId: world.versionId } }),
    refusal: NOT_FOUND_OR_DENIED,
  },
  ...(
    [
      ['a part sent to', 'PUT', '/alice-private/big', { partNumber: '1' }],
      ['a list of the parts of', 'GET', '/alice-private/big', {}],
      ['an end to', 'DELETE', '/alice-private/big', {}],
      ["through mallory's bucket, a part sent to", 'PUT', '/mallory-own/big', { partNumber: '1' }],
      ["through mallory's bucket, an end to", 'DELETE', '/mallory-own/big', {}],
    ] as const
  ).map(
    ([name, method, path, query]): Attack => ({
      name: `${name} an upload of another user`,
      attempt: (world) =>
        sendSigned(world, world.mallory, method, path, {
          query: { ...query, uploadId: world.uploadId },
          ...(method === 'PUT' ? { body: 'x' } : {}),
        }),
      refusal: NOT_FOUND_OR_DENIED,
    }),
  ),
  {
    name: 'the completion of an upload of another user',
    attempt: (world) =>
      sendSigned(world, world.mallory, 'POST', '/alice-private/big', {
        query: { uploadId: world.uploadId },
        body: '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"0"</ETag></Part></CompleteMultipartUpload>',
      }),
    refusal: [403],
  },
  ...['public-read', 'public-read-write', 'authenticated-read', 'bucket-owner-full-control'].map(
    (acl): Attack => ({
      name: `the ACL ${acl} set on an object of another user`,
      attempt: (world) =>
        sendSigned(world, world.mallory, 'PUT', '/alice-private/secret.txt', {
          query: { acl: '' },
          headers: { 'x-amz-acl': acl },
          body: '',
        }),
      refusal: [400, 403],
      gotThrough: async (_, world) => {
        const { status } = await send(world, 'GET', '/alice-private/secret.txt');
        return status === 403 ? null : `anonymous clients read the object: ${status}`;
      },
    }),
  ),
  ...['x-amz-grant-full-control', 'x-amz-grant-write-acp', 'x-amz-grant-read'].map(
    (header): Attack => ({
      name: `${header} for oneself on a bucket of another user`,
      attempt: (world) =>
        sendSigned(world, world.mallory, 'PUT', '/alice-private', {
          query: { acl: '' },
          headers: { [header]: `id="${world.mallory.userId}"` },
          body: '',
        }),
      refusal: [400, 403],
    }),
  ),
  {
    name: 'an ACL document that names another owner',
    attempt: (world) =>
      sendSigned(world, world.mallory, 'PUT', '/alice-private/secret.txt', {
        query: { acl: '' },
        body: OWNED(
          world,
          `<Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="Group"><URI>${ALL_USERS}</URI></Grantee><Permission>READ</Permission></Grant>`,
        ),
      }),
    refusal: [400, 403],
  },
  ...['x-forwarded-for', 'x-real-ip', 'forwarded', 'true-client-ip', 'x-client-ip'].map(
    (header): Attack => ({
      name: `${header} forged to meet aws:SourceIp`,
      attempt: (world) =>
        sendSigned(world, world.mallory, 'GET', '/alice-conditions/secret.txt', {
          headers: { [header]: header === 'forwarded' ? 'for=198.51.100.7' : '198.51.100.7' },
        }),
      refusal: [403],
    }),
  ),
  ...['', '?versionId=null', '?response-content-type=text/html', '?partNumber=1'].map(
    (query): Attack => ({
      name: `an object that was taken down, read with "${query}"`,
      attempt: (world) => send(world, 'GET', `/alice-public/down.txt${query}`),
      refusal: [400, 403, 404, 451],
    }),
  ),
  {
    name: 'an object that was taken down, read by its owner with a range',
    attempt: (world) =>
      sendSigned(world, world.alice, 'GET', '/alice-public/down.txt', { headers: { range: 'bytes=0-3' } }),
    refusal: [403, 404, 451],
    gotThrough: ({ text }) => (text === SECRET.slice(0, 4) ? 'the range was read' : null),
  },
  {
    name: 'an object that was taken down, copied elsewhere by its owner',
    attempt: (world) =>
      sendSigned(world, world.alice, 'PUT', '/alice-public/again.txt', {
        headers: { 'x-amz-copy-source': '/alice-public/down.txt' },
        body: '',
      }),
    refusal: [403, 404, 451],
  },
  ...(['game', 'inbound', 'bridge', 'mailApp', 'revoked', 'expired', 'suspended'] as const).map(
    (kind): Attack => ({
      name: `the ${kind} token used on storage`,
      attempt: (world) => sendJson(world, 'GET', '/alice-private/secret.txt', world.tokens[kind]),
      refusal: [401, 403],
    }),
  ),
  {
    name: 'a token that may only read, used to write',
    attempt: (world) => sendJson(world, 'PUT', '/alice-private/secret.txt', world.tokens.objects, 'changed'),
    refusal: [403],
    gotThrough: readsBack,
  },
  {
    name: 'a token that may only read, used to delete',
    attempt: (world) => sendJson(world, 'DELETE', '/alice-private/secret.txt', world.tokens.objects),
    refusal: [403],
    gotThrough: readsBack,
  },
  {
    name: 'the root token used on storage',
    attempt: (world) => sendJson(world, 'GET', '/alice-private/secret.txt', world.server.rootToken),
    refusal: [401, 403],
  },
  {
    name: 'a session cookie used on storage',
    attempt: (world) => send(world, 'GET', '/alice-private/secret.txt', { headers: { cookie: world.victim.cookie } }),
    refusal: [403],
  },
  {
    name: 'the XML of a policy with an external entity',
    attempt: (world) =>
      sendSigned(world, world.mallory, 'PUT', '/mallory-own', {
        query: { tagging: '' },
        body: '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><Tagging><TagSet><Tag><Key>a</Key><Value>&x;</Value></Tag></TagSet></Tagging>',
      }),
    refusal: [400],
  },
  {
    name: 'XML entities that grow without end',
    attempt: (world) =>
      sendSigned(world, world.mallory, 'PUT', '/mallory-own', {
        query: { tagging: '' },
        body: '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]><Tagging><TagSet><Tag><Key>a</Key><Value>&c;</Value></Tag></TagSet></Tagging>',
      }),
    refusal: [400],
  },
];
