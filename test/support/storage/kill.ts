/**
 * Kills a running server with SIGKILL at random moments, under upload load or during background work that an operator started.
 * Then compares every acknowledged object with the SHA-256 of the uploaded bytes.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { startServer } from '../server.ts';
import { WebhookReceiver } from '../webhook-receiver.ts';
import { CRON_EVERY_MS, type KillOutcome, listShards, Target } from './kill-target.ts';

const SIZES = [0, 10, 4_096, 16_384, 16_385, 100_000, 1_500_000];
const SMALL_SIZES = [10, 4_096, 16_384, 16_385, 100_000];
/** Settings of the server: days last ten seconds, and cron runs each second. */
const SHORT_DAYS = { LIFECYCLE_DAY_SECONDS: '10' };

export async function killStorage(kills: number): Promise<KillOutcome> {
  const receiver = await WebhookReceiver.start();
  try {
    return await killWithRules(kills, receiver);
  } finally {
    await receiver.stop();
  }
}

async function killWithRules(kills: number, receiver: WebhookReceiver): Promise<KillOutcome> {
  await using server = await startServer({ objectShards: 2, vars: SHORT_DAYS });
  const target = new Target(server);
  await target.open();
  await target.addRules(receiver);
  for (let kill = 0; kill < kills; kill++) {
    const state = { isUp: true };
    const writing = target.write(SIZES, () => state.isUp);
    await sleep(300 + Math.random() * 1500);
    await target.server.kill9();
    state.isUp = false;
    await writing;
    await target.restart();
    await target.verify(target.acknowledged.slice(-200));
    await target.verifyCounts();
  }
  await target.server.stop();
  // Move the clock past the leases of killed work and the waits after failed deliveries.
  target.clockOffsetSeconds += 7_200;
  await target.restart();
  await target.verifyRules(receiver);
  await target.verify();
  await target.verifyNothingMissing();
  return target.outcome(kills);
}

interface Work {
  /** Prepares files while the server is stopped. */
  readonly prepare?: (directory: string) => void;
  /** Delay before the work begins, for work that cron starts. */
  readonly beginsInMs?: (target: Target) => number;
  /** Runs the work. Resolves when it is done. */
  readonly run: (target: Target) => Promise<unknown>;
  /** Checks the result after the work is done. */
  readonly check?: (target: Target) => Promise<unknown>;
  /** Whether uploads continue during the work. They cannot during a rebuild, when the shard accepts none. */
  readonly isUnderLoad: boolean;
}

/** Time in milliseconds for a run of cron, with a margin. */
const CRON_MS = 2_000;
const WRITE_AHEAD_MS = 2_000;

const WORKS = {
  packing: { isUnderLoad: true, run: (target) => target.operate('gc', { pack: true }) },
  'scrub and repair': {
    isUnderLoad: true,
    prepare: damageCopies,
    run: (target) => target.operate('scrub'),
    check: async (target) =>
      expect(await target.operate('scrub')).toMatchObject({
        finished: true,
        bad_copies: 0,
        missing_copies: 0,
        lost_blobs: 0,
      }),
  },
  'slot moves': {
    isUnderLoad: true,
    async run(target) {
      // Move the slots in several calls: an invocation may make 1,000 queries, and the move of a slot makes about 20.
      for (const to_shard of [1, 0]) {
        for (let at = 0; at < 64; at += 16) {
          const slots = Array.from({ length: 16 }, (_, i) => (at + i) * 4);
          await target.operate('slots/move', { bucket: 'kept', to_shard, slots });
        }
      }
    },
  },
  snapshot: { isUnderLoad: true, run: (target) => target.operate('snapshot') },
  cron: {
    isUnderLoad: true,
    beginsInMs: (target) => target.msUntilCron(),
    run: (target) => sleep(target.msUntilCron() + CRON_MS),
    check: async (target) => expect(target.journalAgeMs()).toBeLessThan(CRON_EVERY_MS),
  },
  rebuild: {
    isUnderLoad: false,
    prepare: loseFirstShard,
    async run(target) {
      for (let isDone = false; !isDone; ) {
        const { status, body } = await target.server.call('POST', '/v1/storage/rebuild', { shard: 0 });
        // If a rebuild was killed after its last step, it is complete.
        isDone = body.code === 'not_empty' || body.finished;
        if (body.code !== 'not_empty') expect(status, JSON.stringify(body)).toBe(200);
      }
    },
  },
} as const satisfies Record<string, Work>;

export type WorkName = keyof typeof WORKS;
export const WORK_NAMES = Object.keys(WORKS) as WorkName[];

/** Kills the server `kills` times during one kind of work. After each kill, runs the work again to its end. */
export async function killMaintenance(name: WorkName, kills: number): Promise<KillOutcome> {
  const work: Work = WORKS[name];
  await using server = await startServer({ objectShards: 2 });
  const target = new Target(server);
  await target.open();
  let shortestMs: number | null = null;
  let killed = 0;
  for (let round = 0; killed < kills; round++) {
    expect(round, 'rounds in which the work ended before the kill').toBeLessThan(kills * 4);
    const until = Date.now() + 1_500;
    await target.write(SMALL_SIZES, () => Date.now() < until);
    if (work.prepare) {
      await target.operate('snapshot');
      await server.stop();
      work.prepare(server.directory);
      await target.restart();
    }
    // Write no more until shortly before cron runs: a minute of uploads would be too much to read back in each round.
    if (work.beginsInMs) await sleep(Math.max(0, work.beginsInMs(target) - WRITE_AHEAD_MS));
    const state = { isUp: true };
    const writing = work.isUnderLoad ? target.write(SMALL_SIZES, () => state.isUp) : null;
    const waitMs = work.beginsInMs?.(target) ?? 0;
    const beganAt = Date.now();
    const running = work.run(target).then(
      () => 'done' as const,
      () => 'cut off' as const,
    );
    const isOver = running.then((outcome) => {
      const tookMs = Date.now() - beganAt - waitMs;
      if (outcome === 'done') shortestMs = Math.min(shortestMs ?? tookMs, tookMs);
      return true;
    });
    // Complete a first run, to measure how long the work takes.
    if (shortestMs === null) await isOver;
    else {
      await sleep(waitMs + Math.random() * shortestMs);
      if (!(await Promise.race([isOver, sleep(0, false)]))) killed++;
      await target.killAndRestart();
    }
    state.isUp = false;
    await Promise.all([writing, isOver]);
    if (work.isUnderLoad) await target.verify(target.acknowledged.slice(-200));
    await work.run(target);
    await work.check?.(target);
    await target.verify();
    await target.verifyListing();
  }
  await target.verifyNothingMissing();
  return target.outcome(killed);
}

/** Flips one byte in every third blob of the second location. */
function damageCopies(directory: string): void {
  const blobs = join(directory, 'r2/tessera-blobs-2/blobs');
  for (const [i, name] of readdirSync(blobs).entries()) {
    const bytes = readFileSync(join(blobs, name));
    // Skip the owner id of the location: it has no second copy, and damage to it stops the shard.
    if (i % 3 !== 0 || bytes.length === 0 || bytes.toString('latin1', 0, 6) === '{"id":') continue;
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    writeFileSync(join(blobs, name), bytes);
  }
}

/** Removes the database file of `OBJECTS_0`, the only shard with versions. */
export function loseFirstShard(directory: string): void {
  const lost = listShards(directory);
  expect(lost).toHaveLength(1);
  for (const end of ['', '-shm', '-wal']) rmSync(`${lost[0]}${end}`, { force: true });
}
