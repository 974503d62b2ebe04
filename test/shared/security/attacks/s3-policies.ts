/** Attacks on bucket policies: their variables, conditions and resources, and the rights that they give away. */
import { type Attack, parsed, type Reply, SECRET, send, sendJson, sendSigned } from './attack.ts';
import { allow, type S3User, type World } from './world.ts';

let buckets = 0;
interface Trial {
  readonly name: string;
  readonly policy: (world: World, bucket: string) => string;
  readonly attempt: (world: World, bucket: string) => Promise<Reply>;
  readonly refusal?: readonly number[];
}

/** Creates a new bucket of alice with a policy and one object, `home/alice/secret.txt`. */
const trial = ({ name, policy, attempt, refusal = [403] }: Trial): Attack => ({
  name,
  attempt: async (world) => {
    const bucket = `policy-${++buckets}`;
    const steps = [
      await sendSigned(world, world.alice, 'PUT', `/${bucket}`, { body: '' }),
      await sendSigned(world, world.alice, 'PUT', `/${bucket}/home/alice/secret.txt`, { body: SECRET }),
      await sendSigned(world, world.alice, 'PUT', `/${bucket}`, { query: { policy: '' }, body: policy(world, bucket) }),
    ];
    if (steps.some(({ status }) => status > 204)) throw new Error(steps.map(({ text }) => text).join());
    return attempt(world, bucket);
  },
  refusal,
});
const toAll = (bucket: string) => [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`];
/** Resource of AWS's example of home directories, with the variable `aws:username`. */
const home = (bucket: string) => ['arn:aws:s3:::', bucket, '/home/$', '{aws:username}/*'].join('');
const read = (world: World, user: S3User, bucket: string, query: Record<string, string> = {}) =>
  sendSigned(world, user, 'GET', `/${bucket}/home/alice/secret.txt`, { query });
const deny = (principal: unknown, action: string, resource: unknown, condition?: object): string =>
  allow(principal, action, resource, condition).replace('"Allow"', '"Deny"');

/** Conditions in an Allow statement. A request by mallory must not meet them. */
const CONDITIONS: Readonly<Record<string, object>> = {
  'a secure transport': { Bool: { 'aws:SecureTransport': 'true' } },
  'a referer': { StringEquals: { 'aws:Referer': 'https://app.test/' } },
  'another user': { StringEquals: { 'aws:username': 'alice' } },
  'a time that passed': { DateLessThan: { 'aws:CurrentTime': '2020-01-01T00:00:00Z' } },
  'a time to come': { DateGreaterThan: { 'aws:CurrentTime': '2099-01-01T00:00:00Z' } },
  'a tag of the object': { StringEquals: { 's3:ExistingObjectTag/public': 'yes' } },
  'a key that must exist': { Null: { 'aws:Referer': 'false' } },
  'a user agent': { StringLike: { 'aws:UserAgent': 'backup/*' } },
  'two conditions, one met': { StringNotEquals: { 'aws:username': 'eve' }, IpAddress: { 'aws:SourceIp': '192.0.2.1' } },
};

export const POLICY_ATTACKS: readonly Attack[] = [
  ...Object.entries(CONDITIONS).map(([what, condition]) =>
    trial({
      name: `an Allow with ${what}, which the request does not meet`,
      policy: ({ mallory }, bucket) => allow({ AWS: mallory.userId }, 's3:GetObject', toAll(bucket), condition),
      attempt: (world, bucket) => read(world, world.mallory, bucket),
    }),
  ),
  trial({
    name: 'a home directory of another user, by a user with the same display name',
    policy: (_, bucket) => allow('*', 's3:*', home(bucket)),
    attempt: async (world, bucket) => {
      const twin = await world.server.createAccessKey('alice');
      return read(world, twin, bucket);
    },
  }),
  trial({
    name: 'a home directory, by an anonymous client without a name',
    policy: (_, bucket) => allow('*', 's3:GetObject', home(bucket)),
    attempt: (world, bucket) => send(world, 'GET', `/${bucket}/home//secret.txt`),
    refusal: [403, 404],
  }),
  trial({
    name: 'a home directory, by a user whose name has a wildcard',
    policy: (_, bucket) => allow('*', 's3:GetObject', home(bucket)),
    attempt: async (world, bucket) => {
      const root = world.server.rootToken;
      const made = await sendJson(world, 'POST', '/v1/iam/users', root, { name: 'star', user_name: '*' });
      if (made.status === 400) return { ...made, status: 403 };
      const { body: key } = await world.server.call('POST', `/v1/iam/users/${parsed(made).user_id}/access-keys`, {});
      const star = { userId: '', accessKeyId: key.access_key_id, secretAccessKey: key.secret_access_key };
      return read(world, star, bucket);
    },
  }),
  ...['', '1000', 'NaN', '-1', '1e9'].map((maxKeys) =>
    trial({
      name: `a list with max-keys "${maxKeys}" under a policy that allows ten`,
      policy: (_, bucket) =>
        allow('*', 's3:ListBucket', `arn:aws:s3:::${bucket}`, { NumericLessThanEquals: { 's3:max-keys': '10' } }),
      attempt: (world, bucket) => send(world, 'GET', `/${bucket}?list-type=2&max-keys=${maxKeys}`),
      refusal: [400, 403],
    }),
  ),
  ...['', 'home/', 'home/alice', 'HOME/BOB/', 'home/bob'].map((prefix) =>
    trial({
      name: `a list of "${prefix}" under a policy for "home/bob/"`,
      policy: ({ mallory }, bucket) =>
        allow({ AWS: mallory.userId }, 's3:ListBucket', `arn:aws:s3:::${bucket}`, {
          StringLike: { 's3:prefix': 'home/bob/*' },
        }),
      attempt: (world, bucket) =>
        sendSigned(world, world.mallory, 'GET', `/${bucket}`, { query: { 'list-type': '2', prefix } }),
    }),
  ),
  trial({
    name: 'an object by a user who may only list',
    policy: ({ mallory }, bucket) => allow({ AWS: mallory.userId }, 's3:List*', toAll(bucket)),
    attempt: (world, bucket) => read(world, world.mallory, bucket),
  }),
  trial({
    name: 'an old version by a user who may only read the present one',
    policy: ({ mallory }, bucket) => allow({ AWS: mallory.userId }, 's3:GetObject', toAll(bucket)),
    attempt: (world, bucket) => read(world, world.mallory, bucket, { versionId: 'null' }),
  }),
  ...(
    [
      ['an action', 's3:PutObjectAcl', undefined],
      ['a condition on PutObject', 's3:PutObject', { StringEquals: { 's3:x-amz-acl': 'public-read' } }],
      ['a condition on PutObjectAcl', 's3:PutObjectAcl', { StringEquals: { 's3:x-amz-acl': 'public-read' } }],
    ] as const
  ).map(([what, action, condition]) =>
    trial({
      // Uploaders own their objects and may set ACLs, unless a policy denies it. This policy does.
      name: `a public ACL on an upload that a policy denies by ${what}`,
      policy: ({ mallory }, bucket) => {
        const [allowed, denied] = [
          allow({ AWS: mallory.userId }, 's3:PutObject', toAll(bucket)),
          deny('*', action, `arn:aws:s3:::${bucket}/*`, condition),
        ].map((text) => JSON.parse(text));
        return JSON.stringify({ ...allowed, Statement: [...allowed.Statement, ...denied.Statement] });
      },
      attempt: (world, bucket) =>
        sendSigned(world, world.mallory, 'PUT', `/${bucket}/new.txt`, {
          body: 'x',
          headers: { 'x-amz-acl': 'public-read' },
        }),
    }),
  ),
  trial({
    name: 'tags by a user who may only write objects',
    policy: ({ mallory }, bucket) => allow({ AWS: mallory.userId }, 's3:PutObject', toAll(bucket)),
    attempt: (world, bucket) =>
      sendSigned(world, world.mallory, 'PUT', `/${bucket}/new.txt`, { body: 'x', headers: { 'x-amz-tagging': 'a=b' } }),
  }),
  trial({
    name: 'an owner who is locked out by a policy that another user set',
    policy: ({ mallory }, bucket) => allow({ AWS: mallory.userId }, 's3:PutBucketPolicy', `arn:aws:s3:::${bucket}`),
    attempt: async (world, bucket) => {
      const body = deny('*', 's3:*', toAll(bucket));
      await sendSigned(world, world.mallory, 'PUT', `/${bucket}`, {
        query: { policy: '' },
        headers: { 'x-amz-confirm-remove-self-bucket-access': 'true' },
        body,
      });
      const freed = await sendSigned(world, world.alice, 'DELETE', `/${bucket}`, { query: { policy: '' } });
      const own = await read(world, world.alice, bucket);
      return freed.status === 204 && own.status === 200
        ? { status: 403, text: 'the owner has the bucket', headers: {} }
        : { status: 200, text: `the owner gets ${freed.status} and ${own.status}`, headers: {} };
    },
  }),
  ...[
    ['of another bucket', 'arn:aws:s3:::alice-private/*'],
    ['of every bucket', '*'],
  ].map(
    ([what, resource]): Attack => ({
      name: `a policy of one's own bucket with resources ${what}`,
      attempt: async (world) => {
        const query = { policy: '' };
        const body = allow({ AWS: world.mallory.userId }, 's3:*', resource);
        await sendSigned(world, world.mallory, 'PUT', '/mallory-own', { query, body });
        return sendSigned(world, world.mallory, 'GET', '/alice-private/secret.txt');
      },
      refusal: [403],
    }),
  ),
];
