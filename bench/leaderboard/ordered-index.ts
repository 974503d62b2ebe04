/**
 * Compares the ordered index with a sorted npm structure and with redis-server under redis-benchmark (50 connections, 16
 * commands per write), in one run. The index and the npm structure are in-process calls; Redis answers over a socket.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { OrderedSet } from 'js-sdsl';
import { startRedis } from '../../test/support/leaderboard/redis.ts';
import { collectGarbage, residentBytes } from '../shared/resident-memory.ts';

const OPERATIONS = 300_000;

/** Test data like random wins of one month: many players have few wins, few players have many. */
const firstScore = () => Math.floor(300 * Math.random() ** 3);
const rate = (startedAt: number, operations = OPERATIONS) => operations / ((performance.now() - startedAt) / 1000);
const show = (name: string, updates: number, ranks: number, bytes: number) =>
  console.log(
    `${name.padEnd(34)} ${Math.round(updates).toLocaleString('en')} updates/s  ${Math.round(ranks).toLocaleString('en')} ranks/s  ${bytes.toFixed(1)} bytes per player`,
  );

export async function runIndex(): Promise<void> {
  for (const players of [1_000_000, 5_000_000]) {
    const ours = await measureOurs(players);
    if (players > 1_000_000) continue;
    const peer = measureNpm(players);
    const redis = await measureRedis(players);
    const ratio = (a: number, b: number) => (a / b).toFixed(2);
    console.log(
      `ours / pipelined Redis: updates ${ratio(ours.updates, redis.updates)} (target 1.5), ranks ${ratio(ours.ranks, redis.ranks)} (target 5), memory ${ratio(ours.bytes, redis.bytes)} (target 0.33)`,
    );
    console.log(`ours / js-sdsl: updates ${ratio(ours.updates, peer.updates)}, ranks ${ratio(ours.ranks, peer.ranks)}`);
  }
}

interface Measured {
  readonly updates: number;
  readonly ranks: number;
  readonly bytes: number;
}

async function measureOurs(players: number): Promise<Measured> {
  const script = join(import.meta.dirname, 'ordered-index-alone.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(players)]);
  const ours = JSON.parse(stdout) as Measured;
  show(`ours, ${players.toLocaleString('en')} players`, ours.updates, ours.ranks, ours.bytes);
  return ours;
}

function measureNpm(players: number): Measured {
  type Entry = { slot: number; score: number; reached: number };
  const compare = (a: Entry, b: Entry) => b.score - a.score || a.reached - b.reached || a.slot - b.slot;
  collectGarbage();
  const before = residentBytes('self');
  const set = new OrderedSet<Entry>([], compare, true);
  const entries: Entry[] = [];
  let reached = Date.now() * 1000;
  for (let slot = 0; slot < players; slot++) {
    const entry = { slot, score: firstScore(), reached: reached++ };
    entries.push(entry);
    set.insert(entry);
  }
  collectGarbage();
  const bytes = (residentBytes('self') - before) / players;
  const operations = OPERATIONS / 3;
  const slots = Uint32Array.from({ length: operations }, () => Math.random() * players);
  let startedAt = performance.now();
  for (const slot of slots) {
    const old = entries[slot] as Entry;
    set.eraseElementByKey(old);
    const entry = { slot, score: old.score + 1, reached: reached++ };
    entries[slot] = entry;
    set.insert(entry);
  }
  const updates = rate(startedAt, operations);
  startedAt = performance.now();
  let sum = 0;
  for (const slot of slots) {
    // Returns the rank in standard competition ranking: the position of the first entry with this score.
    sum += set.lowerBound({ slot: -1, score: entries[slot]?.score ?? 0, reached: -1 }).index;
  }
  const ranks = rate(startedAt, operations);
  if (sum < 0) throw new Error('ranks count from 1');
  show(`js-sdsl OrderedSet, ${players.toLocaleString('en')}`, updates, ranks, bytes);
  return { updates, ranks, bytes };
}

/** Writes a member in the format in which redis-benchmark writes a random one. */
const toMember = (player: number) => `player-${String(player).padStart(12, '0')}`;

/** Runs redis-benchmark in a separate process, with 50 connections and 16 commands per write. @returns requests per second. */
async function measureCommand(port: number, players: number, command: string[]): Promise<number> {
  const args = [
    '-p',
    port,
    '-n',
    OPERATIONS,
    '-c',
    50,
    '-P',
    16,
    '-r',
    players,
    '--csv',
    ...command,
    'player-__rand_int__',
  ];
  const { stdout } = await promisify(execFile)('redis-benchmark', args.map(String));
  // Reads the requests per second: the first number of the last line of the CSV output, after the name of the test.
  const perSecond = Number(
    /"([\d.]+)"/.exec(stdout.trim().split('\n').at(-1)?.split(',').slice(1).join(',') ?? '')?.[1],
  );
  if (!(perSecond > 0)) throw new Error(`redis-benchmark printed no rate: ${stdout}`);
  return perSecond;
}

async function measureRedis(players: number): Promise<Measured> {
  const redis = await startRedis();
  try {
    const before = residentBytes(redis.pid);
    for (let at = 0; at < players; at += 5_000) {
      await redis.pipeline(Array.from({ length: 5_000 }, (_, i) => ['ZADD', 'board', firstScore(), toMember(at + i)]));
    }
    const bytes = (residentBytes(redis.pid) - before) / players;
    const updates = await measureCommand(redis.port, players, ['ZINCRBY', 'board', '1']);
    const ranks = await measureCommand(redis.port, players, ['ZREVRANK', 'board']);
    show(`redis-server, ${players.toLocaleString('en')}, pipelined`, updates, ranks, bytes);
    return { updates, ranks, bytes };
  } finally {
    await redis.stop();
  }
}
