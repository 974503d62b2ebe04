import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the identity API', () => {
  it('rejects all callers except root', async () => {
    const { body: admin } = await server.call('POST', '/v1/iam/tokens', { name: 'admin', scopes: ['admin'] });
    expect((await server.call('GET', '/v1/iam/users', undefined, null)).status).toBe(401);
    expect((await server.call('GET', '/v1/iam/users', undefined, 'tok_wrong')).status).toBe(401);
    expect((await server.call('GET', '/v1/iam/users', undefined, `${server.rootToken}x`)).status).toBe(401);
    expect((await server.call('GET', '/v1/iam/users', undefined, admin.token)).status).toBe(403);
    expect((await server.call('GET', '/v1/iam/users')).status).toBe(200);
  });

  it('creates users, lists them in pages, and deletes them', async () => {
    const made: string[] = [];
    for (const name of ['ada', 'bob', 'cyd'])
      made.push((await server.call('POST', '/v1/iam/users', { name })).body.user_id);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await server.call('GET', `/v1/iam/users?limit=2${query}`);
      seen.push(...body.data.map((user: { user_id: string }) => user.user_id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual([...new Set(seen)].sort());
    expect(seen).toEqual(expect.arrayContaining(made));
    expect((await server.call('DELETE', `/v1/iam/users/${made[0]}`)).status).toBe(204);
    expect((await server.call('GET', `/v1/iam/users/${made[0]}`)).status).toBe(404);
    expect((await server.call('DELETE', `/v1/iam/users/${made[0]}`)).status).toBe(404);
  });

  it('shows the secret of an access key once, imports a given pair, and rejects an id that is in use', async () => {
    const { userId } = await server.createAccessKey('keys');
    const pair = { access_key_id: 'IMPORTED.KEY', secret_access_key: 'imported-secret' };
    expect((await server.call('POST', `/v1/iam/users/${userId}/access-keys`, pair)).body).toMatchObject(pair);
    expect((await server.call('POST', `/v1/iam/users/${userId}/access-keys`, pair)).status).toBe(409);
    const { body } = await server.call('GET', `/v1/iam/users/${userId}/access-keys`);
    expect(body.data).toHaveLength(2);
    expect(JSON.stringify(body)).not.toContain('secret');
    expect((await server.call('DELETE', '/v1/iam/access-keys/IMPORTED.KEY')).status).toBe(204);
    expect((await server.call('DELETE', '/v1/iam/access-keys/IMPORTED.KEY')).status).toBe(404);
  });

  it('does not delete a user that owns a bucket', async () => {
    const { userId } = await server.createAccessKey('owner');
    const scopes = ['objects:read', 'objects:write'];
    const { body: made } = await server.call('POST', '/v1/iam/tokens', { name: 'own', user_id: userId, scopes });
    expect((await server.call('PUT', '/owned-bucket', undefined, made.token)).status).toBe(200);
    const refused = await server.call('DELETE', `/v1/iam/users/${userId}`);
    expect(refused.body).toMatchObject({
      status: 409,
      code: 'user_in_use',
      detail: expect.stringContaining('owned-bucket'),
    });
    expect((await server.call('DELETE', '/owned-bucket', undefined, made.token)).status).toBe(204);
    expect((await server.call('DELETE', `/v1/iam/users/${userId}`)).status).toBe(204);
    expect((await server.call('GET', '/owned-bucket', undefined, made.token)).status).toBe(401);
  });

  it('stores policies as documents, and rejects invalid ones', async () => {
    const { userId } = await server.createAccessKey('policies');
    const document = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };
    const path = `/v1/iam/users/${userId}/policies/all`;
    expect((await server.call('PUT', path, document)).status).toBe(204);
    expect((await server.call('GET', path)).body).toEqual(document);
    const wrong = { Version: '2012-10-17', Statement: [{ Effect: 'Perhaps' }] };
    expect((await server.call('PUT', path, wrong)).body.errors[0].path).toBe('Statement.0.Effect');
    // Well-formed policies that cannot be evaluated must be refused. If stored, they would deny their user everything.
    const useless = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Resource: '*' }] };
    const badCondition = { Effect: 'Deny', Action: 's3:*', Resource: '*', Condition: { Resembles: { a: 'b' } } };
    for (const statement of [useless.Statement, badCondition]) {
      const { status, body } = await server.call('PUT', path, { ...useless, Statement: statement });
      expect([status, body.code]).toEqual([400, 'invalid_policy']);
    }
    expect((await server.call('DELETE', path)).status).toBe(204);
    expect((await server.call('GET', path)).status).toBe(404);
  });

  it('limits tokens to scopes, and requires a user for scopes of user data', async () => {
    const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'x', scopes: ['objects:read'] });
    expect(body).toMatchObject({ code: 'invalid_request', errors: [{ path: 'user_id' }] });
    const unknown = await server.call('POST', '/v1/iam/tokens', { name: 'x', scopes: ['scores:write'], colour: 'red' });
    expect(unknown.body.errors).toEqual([{ path: 'colour', message: 'unknown member' }]);
    const { body: made } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    expect((await server.call('GET', '/v1/iam/tokens')).body.data).toContainEqual(
      expect.objectContaining({ token_id: made.token_id }),
    );
    expect(JSON.stringify((await server.call('GET', '/v1/iam/tokens')).body)).not.toContain(made.token);
    expect((await server.call('DELETE', `/v1/iam/tokens/${made.token_id}`)).status).toBe(204);
  });

  it('re-encrypts every secret when the master key is rotated', async () => {
    const old = parseEnv(readFileSync(join(server.directory, 'dev.vars'), 'utf8')).MASTER_KEY ?? '';
    const rotation = { MASTER_KEY: randomBytes(32).toString('base64'), MASTER_KEY_PREVIOUS: old };
    await server.stop();
    await server.start(rotation);
    const first = (await server.call('POST', '/v1/iam/reseal')).body.data[0];
    expect(first).toMatchObject({ kind: 'access_keys', current: 0, unreadable: [], complete: true });
    expect(first.resealed).toBeGreaterThan(0);
    const second = (await server.call('POST', '/v1/iam/reseal')).body.data[0];
    expect(second).toMatchObject({ current: first.resealed, resealed: 0, unreadable: [] });
    await server.stop();
    await server.start({ MASTER_KEY: rotation.MASTER_KEY });
    expect((await server.call('POST', '/v1/iam/reseal')).body.data[0]).toMatchObject({ resealed: 0, unreadable: [] });
  });
});
