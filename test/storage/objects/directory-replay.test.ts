/** Tests that DIRECTORY which was put back gets everything back that its journal has, and gives nothing out twice. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import { DATABASES } from '../../../drizzle.config.ts';
import { createLogoStore } from '../../../workers/leaderboard/records/logo-store.ts';
import { engineOf } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import type { Row } from '../../../workers/storage/engine/store/database.ts';
import { restoreDirectoryRows } from '../../../workers/storage/engine/store/directory-store.ts';
import { readDirectoryAge } from '../../../workers/storage/maintenance/directory-age.ts';
import { replayDirectory } from '../../../workers/storage/maintenance/directory-journal.ts';
import { keepDirectoryAge } from '../../../workers/storage/maintenance/directory-owner.ts';
import { rebuildDirectory } from '../../../workers/storage/maintenance/directory-rebuild.ts';
import { snapshotDirectory } from '../../../workers/storage/maintenance/directory-snapshot.ts';
import { copyRows, restoreRows } from './earlier-state.ts';
import { makeEngine, put, value, wipe } from './harness.ts';
import { call, makeIsolate } from './isolates.ts';

const { DIRECTORY } = env;
const JOURNALED = Object.keys(DATABASES.directory?.journaled ?? {});
const PASSWORD = 'correct horse battery staple';

async function emptyDirectory(): Promise<void> {
  const tables = [...JOURNALED].reverse();
  await DIRECTORY.batch([
    DIRECTORY.prepare('PRAGMA defer_foreign_keys = on'),
    ...[...tables, 'age', 'directory_change', 'collector', 'storage_job'].map((table) =>
      DIRECTORY.prepare(`DELETE FROM ${table}`),
    ),
  ]);
}

beforeEach(async () => {
  await wipe();
  await emptyDirectory();
});

const newEmail = () => `r${crypto.randomUUID()}@example.test`;
const register = (email: string) =>
  call(makeIsolate(), 'POST', '/v1/auth/register', { body: { name: 'A', email, password: PASSWORD }, token: null });

/** Rows of the journaled tables, in the order of their keys. */
async function readJournaled() {
  const copies = await copyRows(DIRECTORY);
  return Object.fromEntries(JOURNALED.map((table) => [table, sorted(copies.get(table) ?? [])]));
}
const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort();

async function replay(context: EngineContext): Promise<number> {
  for (let requests = 1; ; requests++) {
    const { isDone } = await replayDirectory(context, makeIsolate(), () => false);
    if (isDone) return requests;
  }
}

test('each journaled table has its triggers, with the columns of its key', async () => {
  for (const [table, key] of Object.entries(DATABASES.directory?.journaled ?? {})) {
    const columns = await DIRECTORY.prepare('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk')
      .bind(table)
      .all<{ name: string }>();
    expect([table, columns.results.map(({ name }) => name)]).toEqual([table, key]);
    const triggers = await DIRECTORY.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?")
      .bind(table)
      .all();
    expect([table, triggers.results.length]).toEqual([table, 3]);
  }
});

test('after a replay no address, user id or bucket name is given out twice, and revocations and erasures hold', async () => {
  const { context, engine } = makeEngine();
  const root = makeIsolate();
  const create = (path: string, body: object) => call(root, 'POST', path, { body });
  const { body: ada } = await create('/v1/iam/users', { name: 'Ada', user_name: 'ada' });
  const scopes = ['objects:read'];
  const { body: token } = await create('/v1/iam/tokens', { name: 't', user_id: ada.user_id, scopes });
  const bob = newEmail();
  const erased = (await register(bob)).body;
  const carol = newEmail();
  const suspended = (await register(carol)).body;
  await keepDirectoryAge(context);
  const earlier = await copyRows(DIRECTORY);

  const alice = newEmail();
  const first = await register(alice);
  expect(first.status).toBe(201);
  expect((await call(root, 'DELETE', `/v1/iam/tokens/${token.token_id}`)).status).toBe(204);
  expect((await call(root, 'DELETE', `/v1/iam/users/${erased.user.user_id}`)).status).toBe(204);
  const path = `/v1/accounts/${suspended.user.user_id}/suspension`;
  expect((await call(root, 'PUT', path, { body: { reason: 'abuse' } })).status).toBeLessThan(300);
  const bucket = value(await engine.createBucket({ name: 'made-since', ownerId: ada.user_id }));
  await put(engine, bucket, 'x', 'x');
  await keepDirectoryAge(context);
  const later = await readJournaled();
  const unjournaled = value(await engine.createBucket({ name: 'made-after-the-journal', ownerId: ada.user_id }));
  await put(engine, unjournaled, 'x', 'x');

  await restoreRows(DIRECTORY, earlier);
  for (let minute = 0; minute < 3; minute++) await keepDirectoryAge(context);
  expect((await register(newEmail())).body).toMatchObject({ code: 'store_older' });
  // An isolate that has not found it out yet gives the address to another person.
  const unguarded = await DIRECTORY.prepare('INSERT INTO mail_address(email, user_id, created_at) VALUES (?, ?, 1)')
    .bind(alice, 'another')
    .run();
  expect(unguarded.success).toBe(true);

  expect(await replay(context)).toBeGreaterThan(0);
  const found = await readJournaled();
  // The bucket that only the shard knows is there too.
  expect(found.bucket?.length).toBe((later.bucket?.length ?? 0) + 1);
  for (const table of JOURNALED) if (table !== 'bucket') expect([table, found[table]]).toEqual([table, later[table]]);
  expect((await register(alice)).status).toBe(409);
  expect((await register(bob)).status).toBe(409);
  const taken = await engineOf(context).createBucket({ name: 'made-since', ownerId: 'another' });
  expect(taken).toMatchObject({ ok: false, error: { kind: 'bucket_exists' } });
  const lost = await engineOf(context).createBucket({ name: 'made-after-the-journal', ownerId: 'another' });
  expect(lost).toMatchObject({ ok: false, error: { kind: 'bucket_exists' } });
  const again = await replayDirectory(context, makeIsolate(), () => true);
  expect(again).toEqual({ changes_replayed: 0, buckets_recovered: 0, isDone: true });
});

test('a replay that is cut and put back again begins where the database is', async () => {
  const { context } = makeEngine();
  const createUser = (user_name: string) =>
    call(makeIsolate(), 'POST', '/v1/iam/users', { body: { name: user_name, user_name } });
  await keepDirectoryAge(context);
  const earlier = await copyRows(DIRECTORY);
  for (const name of ['u1', 'u2', 'u3', 'u4']) {
    expect((await createUser(name)).status).toBe(201);
    await keepDirectoryAge(context);
  }
  const later = await readJournaled();
  await restoreRows(DIRECTORY, earlier);
  await replayDirectory(context, makeIsolate(), () => false);
  const cut = await copyRows(DIRECTORY);
  await replay(context);
  expect(await readJournaled()).toEqual(later);
  expect((await createUser('u5')).status).toBe(201);
  await keepDirectoryAge(context);
  const latest = await readJournaled();
  await restoreRows(DIRECTORY, cut);
  await replay(context);
  expect(await readJournaled()).toEqual(latest);
});

test('a revocation that the journal lacks stops no later write, because the shards still know its generation', async () => {
  const { context } = makeEngine();
  const createToken = () =>
    call(makeIsolate(), 'POST', '/v1/iam/tokens', { body: { name: 't', scopes: ['scores:write'] } });
  const revoke = async () => {
    const { body } = await createToken();
    expect((await call(makeIsolate(), 'DELETE', `/v1/iam/tokens/${body.token_id}`)).status).toBe(204);
  };
  await revoke();
  await keepDirectoryAge(context);
  const earlier = await copyRows(DIRECTORY);
  await keepDirectoryAge(context);
  await revoke();
  await revoke();
  await restoreRows(DIRECTORY, earlier);
  await replay(context);
  const known = await env.OBJECTS_0.prepare('SELECT generation FROM identity WHERE one = 1').first('generation');
  const own = await DIRECTORY.prepare('SELECT generation FROM identity_generation').first('generation');
  expect(known).toBeGreaterThan(0);
  expect(own).toBe(known);
});

/** Every byte, so that no coding of text can carry it unchanged, and a NUL at both ends. */
const LOGO = new Uint8Array(Array.from({ length: 513 }, (_, i) => i % 256));
const EMPTY = new Uint8Array();

const addLogo = (board: string, image: Uint8Array) =>
  createLogoStore(DIRECTORY).putLogo({ board, hash: '0123456789abcdef', type: 'image/png', image });
const readLogo = async (board: string) => {
  const row = await DIRECTORY.prepare(
    'SELECT typeof(image) AS type, hex(image) AS image FROM board_logo WHERE board = ?',
  )
    .bind(board)
    .first();
  return row;
};
const toRow = (image: Uint8Array) => ({ type: 'blob', image: Buffer.from(image).toString('hex').toUpperCase() });

test('logos of boards come back byte for byte from the journal', async () => {
  const { context } = makeEngine();
  await addLogo('before', LOGO);
  await keepDirectoryAge(context);
  const earlier = await copyRows(DIRECTORY);
  await addLogo('before', LOGO.toReversed());
  await addLogo('since', LOGO);
  await addLogo('empty', EMPTY);
  for (let i = 0; i < 60; i++) await addLogo(`many-${i}`, LOGO.subarray(i));
  await keepDirectoryAge(context);
  await restoreRows(DIRECTORY, earlier);
  await replay(context);
  expect(await readLogo('before')).toEqual(toRow(LOGO.toReversed()));
  expect(await readLogo('since')).toEqual(toRow(LOGO));
  expect(await readLogo('empty')).toEqual(toRow(EMPTY));
  for (let i = 0; i < 60; i++) expect(await readLogo(`many-${i}`)).toEqual(toRow(LOGO.subarray(i)));
});

test('logos of boards come back byte for byte from a snapshot, also from one of 0.2.0', async () => {
  const { context } = makeEngine();
  for (let i = 0; i < 60; i++) await addLogo(`logo-${i}`, LOGO.subarray(i));
  await keepDirectoryAge(context);
  await snapshotDirectory(context);
  await emptyDirectory();
  expect(await rebuildDirectory(context)).toMatchObject({ ok: true });
  for (let i = 0; i < 60; i++) expect(await readLogo(`logo-${i}`)).toEqual(toRow(LOGO.subarray(i)));

  const row = { board: 'logo-0', hash: '0123456789abcdef', type: 'image/png', image: [...LOGO] };
  await restoreDirectoryRows(context, 'board_logo', [row] as unknown as Row[]);
  expect(await readLogo('logo-0')).toEqual(toRow(LOGO));
});

test('a DIRECTORY that was lost is rebuilt up to its journal', async () => {
  const { context } = makeEngine();
  const createUser = (user_name: string) =>
    call(makeIsolate(), 'POST', '/v1/iam/users', { body: { name: user_name, user_name } });
  await createUser('before');
  await keepDirectoryAge(context);
  await snapshotDirectory(context);
  const { body } = await createUser('after');
  await keepDirectoryAge(context);
  const later = await readJournaled();
  await emptyDirectory();
  expect(await rebuildDirectory(context)).toMatchObject({ ok: true });
  expect((await readJournaled()).user).toEqual(later.user);
  expect(body.user_name).toBe('after');
  expect(await DIRECTORY.prepare('SELECT number FROM age WHERE one = 1').first('number')).toBe(
    await readDirectoryAge(context),
  );
});
