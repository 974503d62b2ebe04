/** Tests that an operator's `GET /v1/health` names each unhealthy part. */
import { createExecutionContext, env as testEnv } from 'cloudflare:test';
import { afterEach, expect, it, vi } from 'vitest';
import { Mailbox } from '../../../durable-objects/mail/index.ts';
import worker from '../../../workers/index.ts';

const env = testEnv as unknown as Env & { readonly OBJECTS_2: D1Database };
const { ROOT_TOKEN } = env;

interface Report {
  readonly status: string;
  readonly unavailable?: readonly string[];
  readonly misconfigured?: readonly { readonly name: string; readonly message: string }[];
  readonly warnings: readonly { readonly name: string; readonly message: string }[];
}

/** Probes a deployment with the token of root. @param changes to the bindings, variables and secrets; undefined removes one. */
async function readHealth(changes: Record<string, unknown> = {}): Promise<Report & { httpStatus: number }> {
  const headers = { authorization: `Bearer ${ROOT_TOKEN}` };
  const request = new Request('http://localhost/v1/health', { headers }) as Request<
    unknown,
    IncomingRequestCfProperties
  >;
  const answer = await worker.fetch(request, { ...env, ...changes } as Env, createExecutionContext());
  return { httpStatus: answer.status, ...((await answer.json()) as Report) };
}

afterEach(() => vi.restoreAllMocks());

it('is ok without a finding', async () => {
  expect(await readHealth()).toEqual({
    httpStatus: 200,
    status: 'ok',
    version: expect.any(String),
    commit: 'unknown',
    version_id: expect.any(String),
    warnings: [],
  });
});

it('says which version, commit and deployed version of the Worker runs, also if it is not well', async () => {
  const VERSION = { id: 'f1e2', tag: '0123456789ab', timestamp: '' };
  const runs = { version: expect.stringMatching(/^\d+\.\d+\.\d+(-dev)?$/), commit: '0123456789ab', version_id: 'f1e2' };
  expect(await readHealth({ VERSION })).toMatchObject({ status: 'ok', ...runs });
  expect(await readHealth({ VERSION, ROOT_TOKEN: '' })).toMatchObject({ status: 'misconfigured', ...runs });
  expect(await readHealth({ VERSION: undefined })).toMatchObject({ commit: 'unknown', version_id: 'unknown' });
});

it('names each missing secret', async () => {
  const { httpStatus, misconfigured } = await readHealth({ MASTER_KEY: undefined, ROOT_TOKEN: '' });
  expect(httpStatus).toBe(503);
  expect(misconfigured).toEqual([
    { name: 'ROOT_TOKEN', message: 'is missing' },
    { name: 'MASTER_KEY', message: 'is missing' },
  ]);
});

it('names a database without tables and one that lacks a migration', async () => {
  const rows = await env.OBJECTS_2.prepare('SELECT name FROM d1_migrations').all<{ name: string }>();
  await env.OBJECTS_2.prepare('DELETE FROM d1_migrations').run();
  const { status, misconfigured } = await readHealth();
  expect(status).toBe('misconfigured');
  expect(misconfigured).toEqual([{ name: 'OBJECTS_2', message: 'lacks its tables: run npm run upgrade' }]);
  await env.OBJECTS_2.prepare('DROP TABLE d1_migrations').run();
  expect((await readHealth()).misconfigured).toEqual(misconfigured);
  await env.OBJECTS_2.prepare('CREATE TABLE d1_migrations(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)').run();
  for (const { name } of rows.results)
    await env.OBJECTS_2.prepare('INSERT INTO d1_migrations(name) VALUES (?)').bind(name).run();
  expect((await readHealth()).status).toBe('ok');
});

it('warns of a newer schema, which is what a rollback leaves', async () => {
  await env.OBJECTS_2.prepare("INSERT INTO d1_migrations(name) VALUES ('9999_later.sql')").run();
  expect(await readHealth()).toMatchObject({
    httpStatus: 200,
    warnings: [{ name: 'OBJECTS_2', message: 'has a newer schema than this version: 9999_later.sql' }],
  });
  await env.OBJECTS_2.prepare("DELETE FROM d1_migrations WHERE name = '9999_later.sql'").run();
});

it('names a database that fails, and mailboxes that cannot be opened', async () => {
  const failing = { prepare: () => ({ run: () => Promise.reject(new Error('D1_ERROR: gone')) }) };
  expect((await readHealth({ OBJECTS_1: failing })).unavailable).toEqual(['OBJECTS_1']);
  vi.spyOn(Mailbox.prototype, 'readOwner').mockRejectedValue(new Error('no such column') as never);
  expect((await readHealth()).unavailable).toEqual(['MAILBOX']);
  expect((await readHealth({ OBJECTS_1: failing })).unavailable).toEqual(['OBJECTS_1', 'MAILBOX']);
  expect((await readHealth({ PRODUCTS: 'storage' })).status).toBe('ok');
});

it('names a database that is empty although the locations have its backup', async () => {
  await env.BLOBS_2.put('snapshots/1/2026-11-01T00:00:00.000Z/manifest.json.gz', 'a snapshot');
  await env.BLOBS.put('owners/directory', '{"id":"another","folder":""}');
  const { httpStatus, status, unavailable } = await readHealth();
  expect([httpStatus, status]).toEqual([503, 'unavailable']);
  expect(unavailable).toEqual([
    'DIRECTORY was lost and has not been rebuilt',
    'OBJECTS_1 was lost and has not been rebuilt',
  ]);
  await env.BLOBS_2.delete('snapshots/1/2026-11-01T00:00:00.000Z/manifest.json.gz');
  await env.BLOBS.delete('owners/directory');
  expect((await readHealth()).status).toBe('ok');
});

it('answers if PRODUCTS is bad, and names it', async () => {
  const { misconfigured } = await readHealth({ PRODUCTS: 'files' });
  expect(misconfigured?.map(({ name }) => name)).toEqual(['PRODUCTS']);
});
