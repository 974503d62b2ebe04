/** Tests that `aws:SourceIp` treats an IPv4-mapped IPv6 address as its IPv4 address (RFC 4291 §2.5.5.2). */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let token = '';
const headers = () => ({ authorization: `Bearer ${token}` });
const get = async (bucket: string, address: string) =>
  (await fetch(`${server.url}/${bucket}/x`, { headers: { 'cf-connecting-ip': address } })).status;

async function makeBucket(bucket: string, ...statements: object[]): Promise<void> {
  const all = { Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${bucket}/*` };
  const policy = { Version: '2012-10-17', Statement: statements.map((statement) => ({ ...all, ...statement })) };
  const url = `${server.url}/${bucket}`;
  const open =
    '<PublicAccessBlockConfiguration><BlockPublicPolicy>false</BlockPublicPolicy></PublicAccessBlockConfiguration>';
  for (const [path, body] of [
    ['', undefined],
    ['/x', 'x'],
    ['?publicAccessBlock', open],
    ['?policy', JSON.stringify(policy)],
  ] as const) {
    const answer = await fetch(url + path, { method: 'PUT', headers: headers(), ...(body ? { body } : {}) });
    expect([path, answer.ok, await answer.text()]).toEqual([path, true, '']);
  }
}

beforeAll(async () => {
  server = await startServer();
  const { body: user } = await server.call('POST', '/v1/iam/users', { name: 'owner' });
  const scopes = ['objects:read', 'objects:write'];
  const made = await server.call('POST', '/v1/iam/tokens', { name: 's3', user_id: user.user_id, scopes });
  token = made.body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

const MAPPED = ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:0201', '0:0:0:0:0:ffff:192.0.2.1'];

it('a mapped address of a denied IPv4 network is denied', async () => {
  const condition = { IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } };
  await makeBucket('denying', { Effect: 'Allow' }, { Effect: 'Deny', Condition: condition });
  for (const address of MAPPED) expect([address, await get('denying', address)]).toEqual([address, 403]);
  for (const address of ['192.0.3.1', '::ffff:192.0.3.1', '2001:db8::1']) {
    expect([address, await get('denying', address)]).toEqual([address, 200]);
  }
});

it('a mapped address of an allowed IPv4 network is allowed, also if the policy uses the mapped form', async () => {
  await makeBucket('allowing', { Effect: 'Allow', Condition: { IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } } });
  await makeBucket('mapped', { Effect: 'Allow', Condition: { IpAddress: { 'aws:SourceIp': '::ffff:192.0.2.0/120' } } });
  for (const bucket of ['allowing', 'mapped']) {
    for (const address of MAPPED) expect([bucket, address, await get(bucket, address)]).toEqual([bucket, address, 200]);
    for (const address of ['192.0.3.1', '::ffff:192.0.3.1', '2001:db8::1', '::192.0.2.1']) {
      expect([bucket, address, await get(bucket, address)]).toEqual([bucket, address, 403]);
    }
  }
});
