/** Tests what limits a token: the operator who made it, one board, one bucket. */
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOperator } from '../../support/operators.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ directories: 5 });
});
afterAll(() => server[Symbol.asyncDispose]());

async function createToken(scopes: readonly string[], { by, userId }: { by?: string; userId?: string } = {}) {
  const body = { name: 'program', scopes, ...(userId === undefined ? {} : { user_id: userId }) };
  const made = await server.call('POST', '/v1/iam/tokens', body, ...(by === undefined ? [] : [by]));
  expect(made.status).toBe(201);
  return made.body;
}

it.each(['deleted', 'given another role'] as const)('tokens end when the operator who made them is %s', async (how) => {
  const [operator, other] = [await createOperator(server, 'admin'), await createOperator(server, 'admin')];
  const users = await Promise.all(
    Array.from({ length: 8 }, (_, at) => server.createAccessKey(`${how}-${at}`.replaceAll(' ', '-'))),
  );
  const admin = await createToken(['admin'], { by: operator.token });
  const ofUsers = await Promise.all(
    users.map(({ userId }) => createToken(['objects:read'], { by: operator.token, userId })),
  );
  const kept = await createToken(['admin'], { by: other.token });
  const byRoot = await createToken(['admin']);
  expect([admin.made_by, kept.made_by, byRoot.made_by]).toEqual([operator.operatorId, other.operatorId, null]);
  const read = (token: string) => server.call('GET', '/v1/audit?limit=1', undefined, token);
  expect((await read(admin.token)).status).toBe(200);
  const path = `/v1/operators/${operator.operatorId}`;
  const done = how === 'deleted' ? server.call('DELETE', path) : server.call('PATCH', path, { role: 'read' });
  expect((await done).status).toBeLessThan(300);
  expect((await read(admin.token)).status).toBe(401);
  for (const { token } of ofUsers) {
    const listed = await fetch(`${server.url}/`, { headers: { authorization: `Bearer ${token}` } });
    expect(listed.status).toBe(401);
  }
  expect((await read(kept.token)).status).toBe(200);
  expect((await read(byRoot.token)).status).toBe(200);
});

it('a token for one board posts to that board only', async () => {
  for (const board of ['races', 'chess']) {
    const made = await server.call('PUT', `/v1/boards/${board}`, {
      title: board,
      sort: 'desc',
      operator: 'sum',
      period: 'month',
      public: true,
    });
    expect(made.status).toBeLessThan(300);
  }
  const { token } = await createToken(['board:races:write']);
  const post = (path: string) => server.call('POST', path, { user_id: 'p1', points: 1 }, token);
  expect((await post('/v1/boards/races/scores')).status).toBe(200);
  for (const path of ['/v1/boards/chess/scores', '/v1/scores'])
    expect([path, (await post(path)).body.code]).toEqual([path, 'missing_scope']);
  const batch = { updates: [{ user_id: 'p1', points: 1 }] };
  expect((await server.call('POST', '/v1/boards/chess/scores/batch', batch, token)).status).toBe(403);
  const { token: ofDefault } = await createToken(['board:default:write']);
  expect((await server.call('POST', '/v1/scores', { user_id: 'p1', points: 1 }, ofDefault)).status).toBe(200);
});

it('a token for one bucket reads and writes that bucket only', async () => {
  const key = await server.createAccessKey('owner');
  const s3 = createSdkClient(server.url, key);
  const [one, two] = [`one-${crypto.randomUUID()}`, `two-${crypto.randomUUID()}`];
  for (const Bucket of [one, two]) {
    await s3.send(new CreateBucketCommand({ Bucket }));
    await s3.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x' }));
  }
  const { userId } = key;
  const { token: reader } = await createToken([`bucket:${one}:read`], { userId });
  const { token: writer } = await createToken([`bucket:${one}:read`, `bucket:${one}:write`], { userId });
  const ask = async (token: string, method: string, path: string, headers: Record<string, string> = {}) => {
    const body = method === 'PUT' ? 'y' : null;
    return (await fetch(server.url + path, { method, body, headers: { authorization: `Bearer ${token}`, ...headers } }))
      .status;
  };
  expect(await ask(reader, 'GET', `/${one}/a`)).toBe(200);
  expect(await ask(reader, 'GET', `/${one}?list-type=2`)).toBe(200);
  expect(await ask(reader, 'PUT', `/${one}/a`)).toBe(403);
  expect(await ask(writer, 'PUT', `/${one}/b`)).toBe(200);
  expect(await ask(writer, 'DELETE', `/${one}/b`)).toBe(204);
  for (const [method, path] of [
    ['GET', `/${two}/a`],
    ['GET', `/${two}?list-type=2`],
    ['PUT', `/${two}/a`],
    ['PUT', `/three-${crypto.randomUUID()}`],
    ['GET', '/'],
  ] as const)
    expect([method, path, await ask(writer, method, path)]).toEqual([method, path, 403]);
  // A copy reads its source too.
  expect(await ask(writer, 'PUT', `/${one}/c`, { 'x-amz-copy-source': `/${two}/a` })).toBe(403);
});

it('a scope of a board or bucket that has no such form is refused', async () => {
  for (const scope of [
    'board:races',
    'board::write',
    'bucket:x:read',
    'bucket:*:read',
    'board:races:write:read',
    'objects:*',
  ]) {
    const made = await server.call('POST', '/v1/iam/tokens', { name: 'x', user_id: 'u', scopes: [scope] });
    expect([scope, made.status]).toEqual([scope, 400]);
  }
  const made = await server.call('POST', '/v1/iam/tokens', { name: 'x', scopes: ['bucket:photos:read'] });
  expect(made.status).toBe(400);
});
