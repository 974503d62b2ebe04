/**
 * A user id of the right form, whose number names a database that does not exist, is that of nobody. It is no fault of the service, and
 * the answer names nothing internal.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import type { Credentials } from '../../support/storage/s3-client.ts';
import { sendRaw } from '../../support/storage/s3-raw.ts';
import { signRequest } from '../../support/storage/sigv4-signer.ts';

const NOBODY = '00000000-0000-8000-8000-000000000011';
let server: TestServer;
let owner: Credentials;

beforeAll(async () => {
  server = await startServer({ directories: 1 });
  owner = await server.createAccessKey('owner');
  expect((await send('/invented', {}, '')).status).toBe(200);
});
afterAll(() => server[Symbol.asyncDispose]());

function send(path: string, query: Record<string, string>, body: string, more: Record<string, string> = {}) {
  const headers = { 'content-length': String(Buffer.byteLength(body)), ...more };
  const signed = signRequest({ url: server.url, credentials: owner, method: 'PUT', path, query, headers });
  return sendRaw(server.url, 'PUT', signed.target, signed.headers, body);
}

it.each([
  ['GET', `/v1/iam/users/${NOBODY}`],
  ['DELETE', `/v1/iam/users/${NOBODY}`],
  ['POST', `/v1/iam/users/${NOBODY}/access-keys`, {}],
  ['GET', `/v1/iam/users/${NOBODY}/access-keys`],
  ['GET', `/v1/iam/users/${NOBODY}/policies`],
  ['GET', `/v1/accounts/${NOBODY}/suspension`],
  ['PUT', `/v1/accounts/${NOBODY}/suspension`, { reason: 'x' }],
  ['POST', `/v1/accounts/${NOBODY}/password-reset`],
  ['GET', `/v1/storage/quotas/users/${NOBODY}`],
  ['POST', '/v1/iam/tokens', { name: 'x', scopes: ['objects:read'], user_id: NOBODY }],
])('%s %s is 404', async (method, path, body?: object) => {
  const answer = await server.call(method, path, body);
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([404, expect.not.stringContaining('DIRECTORY')]);
});

it('a policy or an ACL that names it is refused as one that names nobody', async () => {
  const Statement = [
    { Effect: 'Allow', Principal: { AWS: NOBODY }, Action: 's3:GetObject', Resource: 'arn:aws:s3:::invented/*' },
  ];
  const policy = await send('/invented', { policy: '' }, JSON.stringify({ Version: '2012-10-17', Statement }));
  expect([policy.status, policy.body.toString()]).toEqual([
    400,
    expect.stringContaining('<Code>MalformedPolicy</Code>'),
  ]);
  const ownership =
    '<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule></OwnershipControls>';
  expect((await send('/invented', { ownershipControls: '' }, ownership)).status).toBe(200);
  const acl = await send('/invented', { acl: '' }, '', { 'x-amz-grant-read': `id="${NOBODY}"` });
  expect([acl.status, acl.body.toString()]).toEqual([400, expect.stringContaining('<Code>InvalidArgument</Code>')]);
});
