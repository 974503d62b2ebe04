/** Tests that one of four shards loses its storage, and that players of the other shards are not affected. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

const SHARDS = 4;
/** Time in milliseconds after which the season has stored a snapshot: ten seconds after a change, with a margin. */
const SNAPSHOT_MS = 12_000;
const PLAYERS = Array.from({ length: 60 }, (_, i) => ({ user_id: `p${i}`, points: 1 + (i % 30) }));
const rankOf = (points: number) => 1 + PLAYERS.filter((player) => player.points > points).length;

let server: TestServer;
let token: string;
beforeAll(async () => {
  server = await startServer({ vars: { LEADERBOARD_SHARDS: String(SHARDS) } });
  token = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

/** Finds a shard with players. @returns its database file, and the ids of its players. */
function findShard(): { file: string; lost: Set<string> } {
  const directory = join(server.directory, 'do/tessera-LeaderboardShard');
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('.sqlite') || name === 'metadata.sqlite') continue;
    const file = join(directory, name);
    const database = new DatabaseSync(file);
    const rows = database.prepare('SELECT user_id FROM player').all();
    database.close();
    if (rows.length > 0) return { file, lost: new Set(rows.map((row) => String(row.user_id))) };
  }
  throw new Error('no shard has players');
}

it('stops posts and ranks of its own players, and affects no others', async () => {
  const { body } = await server.call('POST', '/v1/scores/batch', { updates: PLAYERS }, token);
  expect(new Set(body.results.map((result: { duplicate?: boolean }) => result.duplicate))).toEqual(new Set([false]));
  const get = (path: string) => server.call('GET', path, undefined, null);
  await new Promise((resolve) => setTimeout(resolve, SNAPSHOT_MS));
  const { body: before } = await get('/v1/scores?limit=100');
  expect(before.players).toBe(PLAYERS.length);
  await server.stop();
  const { file, lost } = findShard();
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  writeFileSync(file, crypto.getRandomValues(new Uint8Array(65_536)));
  await server.start();

  const statuses = new Set<number>();
  for (const { user_id, points } of PLAYERS) {
    const read = await get(`/v1/scores/${user_id}`);
    const around = await get(`/v1/scores/${user_id}/neighbors`);
    const post = await server.call('POST', '/v1/scores', { user_id, points: 0 }, token);
    const answers = [read.status, around.status, post.status];
    for (const status of answers) statuses.add(status);
    if (lost.has(user_id)) {
      expect([user_id, ...answers]).toEqual([user_id, 503, 503, 503]);
      expect(Number(post.headers.get('retry-after'))).toBeGreaterThan(0);
      continue;
    }
    expect([user_id, ...answers]).toEqual([user_id, 200, 200, 200]);
    expect([read.body.user_info.rank, post.body.user_info.rank]).toEqual([rankOf(points), rankOf(points)]);
  }
  const top = await get('/v1/scores?limit=100');
  expect([top.status, top.body.data]).toEqual([200, before.data]);
  expect(Date.parse(top.body.as_of)).toBeLessThanOrEqual(Date.parse(before.as_of) + SNAPSHOT_MS);
  expect((await get(`/v1/seasons/${before.season}/distribution`)).status).toBe(200);
  expect([...statuses].sort()).toEqual([200, 503]);

  const health = await server.call('GET', '/v1/health');
  expect([health.status, health.body.unavailable]).toEqual([
    503,
    [expect.stringMatching(new RegExp(`^LEADERBOARD_SHARD ${before.season}:[0-3]$`))],
  ]);
  const shards = await server.call('GET', `/v1/seasons/${before.season}/shards`);
  const silent = shards.body.data.filter((each: { available: boolean }) => !each.available);
  expect(silent).toMatchObject([{ available: false, players: lost.size }]);
});
