/**
 * Measures two shards of 781,250 players each, with 49 hours of events, in one isolate: memory, and the first rank after a restart.
 * Their rows are written into the database files, in the state after a checkpoint. Posting them would take hours.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { printErrors } from '../../../bench/shared/servers.ts';
import { startLocalServer } from '../../../dev/local/local-server.ts';
import { EVENTS_PER_PAGE, EventPage, hashEvent } from '../../../durable-objects/leaderboard/domain/event-page.ts';
import { SlotKeys } from '../../../durable-objects/leaderboard/domain/slot-keys.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { freePort } from '../../support/server.ts';
import { readHeap } from '../../support/workerd-heap.ts';

const SHARDS = 2;
const PLAYERS = 781_250;
/** Number of events per shard: 50 million a day on 32 shards, for 49 hours. */
const EVENTS = 3_190_000;

const scoreOf = (slot: number): number => 1 + ((slot * 7_919) % 331);
const eventOf = (n: number): string => `match-${n}`;

/** Fills a shard's database. @returns the user ids by slot, from 1. */
function fill(file: string): string[] {
  const database = new DatabaseSync(file);
  const board = database.prepare('SELECT shard FROM board').get();
  const shard = Number(board?.shard);
  const userIds = [''];
  for (let i = 0; userIds.length <= PLAYERS; i++)
    if (shardOf(`player-${i}`, SHARDS) === shard) userIds.push(`player-${i}`);
  const keys = new SlotKeys();
  const startedAt = Date.now() - 49 * 3_600_000;
  const player = database.prepare('INSERT INTO player(slot, user_id, user_name) VALUES (?, ?, ?)');
  const scorePage = database.prepare('INSERT INTO score_page(id, keys) VALUES (?, ?)');
  const eventPage = database.prepare('INSERT INTO event_page(id, at, slots, words, records) VALUES (?, ?, ?, ?, ?)');
  database.exec(
    'BEGIN; DELETE FROM player; UPDATE board SET checkpoint = (SELECT max(number) FROM log); DELETE FROM log',
  );
  for (let slot = 1; slot <= PLAYERS; slot++) {
    player.run(slot, userIds[slot] as string, `Name of ${userIds[slot]}`);
    keys.set(slot, scoreOf(slot), startedAt * 1000 + slot);
  }
  for (const [number, page] of keys.takeChanged()) scorePage.run(number, new Uint8Array(page.buffer));
  for (let n = 0; n < EVENTS; ) {
    const page = new EventPage();
    const first = n;
    for (; n < EVENTS && n < first + EVENTS_PER_PAGE; n++) {
      const slot = 1 + (n % PLAYERS);
      page.add({ slot, hash: hashEvent(eventOf(n)), points: 1, score: 1, rank: 1, isEstimated: false, userName: null });
    }
    const at = Math.ceil((startedAt + (49 * 3_600_000 * n) / EVENTS) / 1000);
    const { slots, records } = page.pack();
    const words = new Uint8Array(page.words().buffer);
    eventPage.run(1 + Math.floor(first / EVENTS_PER_PAGE), at, slots, words, records);
  }
  database.exec('COMMIT');
  database.close();
  return userIds;
}

test('two shards of 781,250 players with 49 hours of events fit into 128 MB together', async () => {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  const inspectorPort = await freePort();
  const vars = {
    ROOT_TOKEN: 'root',
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    LEADERBOARD_SHARDS: String(SHARDS),
  };
  const start = () =>
    startLocalServer({
      host: '127.0.0.1',
      port: 0,
      stateDirectory,
      vars,
      inspectorPort,
      withoutCron: true,
      printLog: printErrors,
    });
  let server = await start();
  onTestFinished(async () => {
    await server.stop();
    rmSync(stateDirectory, { recursive: true, force: true });
  });
  const call = async (path: string, token: string, body?: unknown) => {
    const response = await fetch(server.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect([path, response.ok]).toEqual([path, true]);
    // biome-ignore lint/suspicious/noExplicitAny: the response of any route; each use asserts the members it needs
    return (await response.json()) as any;
  };
  const { token } = await call('/v1/iam/tokens', 'root', { name: 'game', scopes: ['scores:write'] });
  const post = (userId = '', eventId = '') =>
    call('/v1/scores', token, { user_id: userId, points: 1, event_id: eventId });
  for (let i = 0; i < 8; i++) await post(`first-${i}`, 'a');
  await server.stop();
  const directory = join(stateDirectory, 'do/tessera-LeaderboardShard');
  const files = readdirSync(directory).filter((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite');
  expect(files).toHaveLength(SHARDS);
  const userIds = files.map((file) => fill(join(directory, file)));

  server = await start();
  const wake = () => call('/v1/iam/users', 'root');
  await wake();
  const empty = await readHeap(inspectorPort, wake);
  let startedAt = performance.now();
  const better = Array.from({ length: PLAYERS }, (_, i) => scoreOf(i + 1)).filter((score) => score > scoreOf(77));
  for (const ids of userIds) {
    const { user_info } = await call(`/v1/scores/${ids[77]}?exact=1`, token);
    expect(user_info).toMatchObject({ rank: 1 + better.length * SHARDS, players: PLAYERS * SHARDS });
    if (ids === userIds[0])
      console.log(`first rank ${(performance.now() - startedAt).toFixed(0)} ms, both shards on one core`);
  }
  const ranks = await readHeap(inspectorPort, wake);
  startedAt = performance.now();
  for (const ids of userIds) {
    expect(await post(ids[5_001], eventOf(5_000))).toMatchObject({ duplicate: true });
    if (ids === userIds[0]) console.log(`first event ${(performance.now() - startedAt).toFixed(0)} ms`);
  }
  for (let round = 0; round < 300; round++)
    await Promise.all(userIds.map((ids) => post(ids[round + 1], `use-${round}`)));
  const used = await readHeap(inspectorPort, wake);
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  console.log(`Worker alone ${mebibytes(empty)}; with ranks ${mebibytes(ranks)}; with events ${mebibytes(used)}`);
  expect(used).toBeLessThan(128_000_000);
});
