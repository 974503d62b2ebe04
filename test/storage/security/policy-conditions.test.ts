/** Finding 13 of the security review: conditions that cannot be decided never help the caller, and misspelt keys are refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { type Raw, sendRaw } from '../../support/storage/s3-raw.ts';
import { signLink } from '../../support/storage/sigv4-signer.ts';

const BUCKET = 'arn:aws:s3:::guarded';
const LIST = { Principal: '*', Action: 's3:ListBucket', Resource: BUCKET };
const READ = { Principal: '*', Action: 's3:GetObject', Resource: `${BUCKET}/*` };
const EVERYTHING = { Principal: '*', Action: 's3:*', Resource: [BUCKET, `${BUCKET}/*`] };

let server: TestServer;
let owner: Awaited<ReturnType<TestServer['createAccessKey']>>;

const codeOf = ({ status, body }: Raw) => /<Code>(.*?)<\/Code>/.exec(body.toString())?.[1] ?? status;
const signed = (
  method: string,
  path: string,
  query: Record<string, string> = {},
  body?: string,
  signedAt = Date.now(),
) =>
  sendRaw(
    server.url,
    method,
    signLink({ url: server.url, credentials: owner, method, path, query, signedAt }),
    {},
    body,
  );
const putPolicy = (...statements: object[]) =>
  signed('PUT', '/guarded', { policy: '' }, JSON.stringify({ Version: '2012-10-17', Statement: statements }));
async function setPolicy(...statements: object[]): Promise<void> {
  const answer = await putPolicy(...statements);
  expect([answer.status, answer.body.toString()]).toEqual([204, '']);
}
const anonymous = (target: string) => sendRaw(server.url, 'GET', target);

beforeAll(async () => {
  server = await startServer();
  owner = await server.createAccessKey('owner');
  expect((await signed('PUT', '/guarded')).status).toBe(200);
  for (let i = 0; i < 12; i++) expect((await signed('PUT', `/guarded/k${i}`, {}, 'x')).status).toBe(200);
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a limit on s3:max-keys', () => {
  const TOO_MANY = ['max-keys=', 'max-keys', 'max-keys=+', 'max-keys=%09', 'max-keys=11', 'prefix=k'];
  const list = async (query: string) => {
    const answer = await anonymous(`/guarded?list-type=2&${query}`);
    return answer.status === 200 ? answer.body.toString().split('<Key>').length - 1 : codeOf(answer);
  };

  it('as an Allow applies to the number that the listing uses', async () => {
    await setPolicy({ Effect: 'Allow', ...LIST, Condition: { NumericLessThanEquals: { 's3:max-keys': '10' } } });
    for (const query of TOO_MANY) expect([query, await list(query)]).toEqual([query, 'AccessDenied']);
    expect([await list('max-keys=10'), await list('max-keys=3')]).toEqual([10, 3]);
  });
  it('as a Deny applies to the number that the listing uses', async () => {
    const Condition = { NumericGreaterThan: { 's3:max-keys': '10' } };
    await setPolicy({ Effect: 'Allow', ...LIST }, { Effect: 'Deny', ...LIST, Condition });
    for (const query of TOO_MANY) expect([query, await list(query)]).toEqual([query, 'AccessDenied']);
    expect([await list('max-keys=10'), await list('max-keys=3')]).toEqual([10, 3]);
    expect((await sendRaw(server.url, 'HEAD', '/guarded')).status).toBe(200);
  });
});

describe('a condition key', () => {
  it.each(['s3:maxkeys', 'aws:SourceIpAddress', 'prefix', 's3:ExistingObjectTag', 'example:key'])(
    'that AWS does not document is refused in a bucket policy, and the old policy stays: %s',
    async (key) => {
      await setPolicy({ Effect: 'Allow', ...READ });
      const answer = await putPolicy({ Effect: 'Deny', ...READ, Condition: { StringEquals: { [key]: 'x' } } });
      expect([answer.status, codeOf(answer)]).toEqual([400, 'MalformedPolicy']);
      expect(answer.body.toString()).toContain(`Policy has an invalid condition key: ${key.toLowerCase()}`);
      expect((await anonymous('/guarded/k1')).status).toBe(200);
    },
  );
  it('that AWS does not document is refused in the policy of a user', async () => {
    const path = `/v1/iam/users/${owner.userId}/policies/typed`;
    const Condition = { StringEquals: { 's3:prefixx': 'a' } };
    const Statement = [{ Effect: 'Deny', Action: 's3:GetObject', Resource: '*', Condition }];
    const { status, body } = await server.call('PUT', path, { Version: '2012-10-17', Statement });
    expect([status, body.code]).toEqual([400, 'invalid_policy']);
    expect(body.errors[0].message).toBe('Policy has an invalid condition key: s3:prefixx');
    expect((await server.call('GET', path)).status).toBe(404);
  });
  it.each([
    ['StringEquals', 'aws:RequestedRegion', 'us-east-1'],
    ['StringNotEqualsIfExists', 'aws:RequestedRegion', 'us-east-1'],
    ['Null', 's3:BucketTag/team', 'true'],
  ])('that this service does not read denies with %s %s, and never allows', async (operator, key, value) => {
    const Condition = { [operator]: { [key]: value } };
    await setPolicy({ Effect: 'Allow', ...READ }, { Effect: 'Deny', ...READ, Condition });
    expect(codeOf(await anonymous('/guarded/k1'))).toBe('AccessDenied');
    await setPolicy({ Effect: 'Allow', ...READ, Condition });
    expect(codeOf(await anonymous('/guarded/k1'))).toBe('AccessDenied');
  });
  it('s3:signatureAge limits the age of links', async () => {
    await setPolicy({ Effect: 'Deny', ...READ, Condition: { NumericGreaterThan: { 's3:signatureAge': '600000' } } });
    expect((await signed('GET', '/guarded/k1')).status).toBe(200);
    expect(codeOf(await signed('GET', '/guarded/k1', {}, undefined, Date.now() - 660_000))).toBe('AccessDenied');
  });
});

/** Policies as the module terraform-aws-modules/s3-bucket and AWS's own guides generate them. */
describe('policies of common Terraform modules are accepted', () => {
  const encryption = 's3:x-amz-server-side-encryption';
  it.each([
    ['TLS only', { Bool: { 'aws:SecureTransport': 'false' } }],
    ['a recent TLS version', { NumericLessThan: { 's3:TlsVersion': '1.2' } }],
    ['one kind of encryption', { StringNotEquals: { [encryption]: ['aws:kms', 'AES256'] } }],
    ['no upload without encryption', { Null: { [encryption]: true } }],
    ['no keys of customers', { Null: { [`${encryption}-customer-algorithm`]: 'false' } }],
    ['one KMS key', { StringNotEquals: { [`${encryption}-aws-kms-key-id`]: 'arn:aws:kms:eu-west-1:1:key/a' } }],
    ['one organization', { StringNotEqualsIfExists: { 'aws:PrincipalOrgID': 'o-abc' } }],
    ['one VPC endpoint', { StringNotEquals: { 'aws:SourceVpce': 'vpce-1' } }],
    ['a second factor', { BoolIfExists: { 'aws:MultiFactorAuthPresent': 'false' } }],
    [
      'logs of one account',
      { ArnNotLike: { 'aws:SourceArn': 'arn:aws:s3:::a' }, Bool: { 'aws:ViaAWSService': false } },
    ],
  ])('%s', async (_, Condition) => {
    await setPolicy({ Sid: 'deny', Effect: 'Deny', ...EVERYTHING, Condition });
  });
  it('and over http only the condition on secure transport denies', async () => {
    await setPolicy(
      { Effect: 'Allow', ...READ },
      { Effect: 'Deny', ...EVERYTHING, Condition: { NumericLessThan: { 's3:TlsVersion': '1.2' } } },
    );
    expect((await anonymous('/guarded/k1')).status).toBe(200);
    await setPolicy(
      { Effect: 'Allow', ...READ },
      { Effect: 'Deny', ...EVERYTHING, Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
    );
    expect(codeOf(await anonymous('/guarded/k1'))).toBe('AccessDenied');
  });
});
