/**
 * Kills a running server with SIGKILL at random moments, under upload load or during background work that an operator started.
 * Then compares every acknowledged object with the SHA-256 of the uploaded bytes.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { CLEAN_FSCK } from './clean-fsck.ts';
import { startServer, type TestServer } from './server.ts';

const SIZES = [0, 10, 4_096, 16_384, 16_385, 100_000, 1_500_000];
const SMALL_SIZES = [10, 4_096, 16_384, 16_385, 100_000];
const WRITERS = 6;
const READERS = 8;

interface Acknowledged {
  readonly path: string;
  readonly sha256: string;
}

export interface KillOutcome {
  readonly kills: number;
  readonly acknowledged: number;
  readonly lost: number;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A server with two shards and one bucket, and the list of its acknowledged uploads. */
class Target {
  readonly server: TestServer;
  readonly acknowledged: Acknowledged[] = [];
  /** Grows at each kill, so that leases of killed work expire. */
  clockOffsetSeconds = 0;
  /** Cron runs each minute after this time. */
  #startedAt = Date.now();
  #authorization = '';
  #serial = 0;

  constructor(server: TestServer) {
    this.server = server;
  }

  async open(): Promise<void> {
    const { userId } = await this.server.createAccessKey('writer');
    const scopes = ['objects:read', 'objects:write'];
    const { body } = await this.server.call('POST', '/v1/iam/tokens', { name: 'kill', user_id: userId, scopes });
    this.#authorization = `Bearer ${body.token}`;
    expect((await this.#send('PUT', '/kept')).status).toBe(200);
  }

  #send(method: string, path: string, content?: Uint8Array): Promise<Response> {
    const headers = { authorization: this.#authorization };
    return fetch(this.server.url + path, { method, headers, ...(content ? { body: content as BodyInit } : {}) });
  }

  /** Uploads with several writers while `mayContinue`. A writer stops when the server dies; that upload is not acknowledged. */
  async write(sizes: readonly number[], mayContinue: () => boolean): Promise<void> {
    const writer = async () => {
      while (mayContinue()) {
        const path = `/kept/${this.#serial++}`;
        const content = randomBytes(sizes[Math.floor(Math.random() * sizes.length)] ?? 0);
        const response = await this.#send('PUT', path, content).catch(() => null);
        if (response === null) return;
        const isWhole = await response.arrayBuffer().catch(() => null);
        if (isWhole && response.status === 200) this.acknowledged.push({ path, sha256: sha256(content) });
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  }

  async killAndRestart(): Promise<void> {
    await this.server.kill9();
    this.clockOffsetSeconds += 700;
    await this.restart();
  }

  async restart(): Promise<void> {
    await this.server.start({ CLOCK_OFFSET_SECONDS: String(this.clockOffsetSeconds) });
    this.#startedAt = Date.now();
  }

  msUntilCron(): number {
    return CRON_EVERY_MS - ((Date.now() - this.#startedAt) % CRON_EVERY_MS);
  }

  async operate(path: string, body: object = {}): Promise<Record<string, unknown>> {
    const answer = await this.server.call('POST', `/v1/storage/${path}`, body);
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(200);
    return answer.body;
  }

  async verify(some = this.acknowledged): Promise<void> {
    const left = some.values();
    const reader = async () => {
      for (const { path, sha256: expected } of left) {
        const response = await this.#send('GET', path);
        expect(response.status, path).toBe(200);
        expect(sha256(new Uint8Array(await response.arrayBuffer())), path).toBe(expected);
      }
    };
    await Promise.all(Array.from({ length: READERS }, reader));
  }

  /** Checks that every acknowledged name is listed. */
  async verifyListing(): Promise<void> {
    const names = new Set<string>();
    for (let after = ''; ; ) {
      const response = await this.#send('GET', `/kept?list-type=2&start-after=${after}`);
      expect(response.status).toBe(200);
      const page = Array.from((await response.text()).matchAll(/<Key>([^<]*)<\/Key>/g), ([, name]) => name ?? '');
      for (const name of page) names.add(name);
      if (page.length < 1000) break;
      after = page.at(-1) ?? '';
    }
    expect(this.acknowledged.filter(({ path }) => !names.has(path.slice('/kept/'.length)))).toEqual([]);
  }

  /** Time since the last write to the journal of the bucket's shard. */
  journalAgeMs(): number {
    const [file = ''] = listShards(this.server.directory);
    const database = new DatabaseSync(file);
    const row = database.prepare("SELECT updated_at FROM task WHERE name = 'journal flushed'").get();
    database.close();
    return Date.now() + this.clockOffsetSeconds * 1000 - Number(row?.updated_at ?? 0);
  }

  /**
   * Checks that collection removes all leftovers of the kills and nothing else. An orphan is removed from the first location a
   * day after it was found, and from the others a day later.
   */
  async verifyNothingMissing(): Promise<void> {
    for (const hours of [2, 26, 26]) {
      await this.server.stop();
      this.clockOffsetSeconds += hours * 3_600;
      await this.restart();
      const collected = await this.operate('gc', { max_seconds: 300 });
      expect(collected).toMatchObject({ finished: true });
      const { body } = await this.server.call('GET', '/v1/collectors');
      expect(body.data.map(({ alarm }: { alarm: object | null }) => alarm)).toEqual(body.data.map(() => null));
    }
    const report = await this.operate('fsck');
    expect(report, JSON.stringify(report)).toMatchObject({ dry_run: true, ...CLEAN_FSCK });
  }

  outcome(kills: number): KillOutcome {
    return { kills, acknowledged: this.acknowledged.length, lost: 0 };
  }
}

export async function killStorage(kills: number): Promise<KillOutcome> {
  await using server = await startServer({ objectShards: 2 });
  const target = new Target(server);
  await target.open();
  for (let kill = 0; kill < kills; kill++) {
    const state = { isUp: true };
    const writing = target.write(SIZES, () => state.isUp);
    await sleep(300 + Math.random() * 1500);
    await target.server.kill9();
    state.isUp = false;
    await writing;
    await target.restart();
    await target.verify(target.acknowledged.slice(-200));
  }
  await target.verify();
  await target.verifyNothingMissing();
  return target.outcome(kills);
}

interface Work {
  /** Runs while the server is stopped. */
  readonly prepare?: (directory: string) => void;
  /** Delay before the work begins. For work that cron starts. */
  readonly beginsInMs?: (target: Target) => number;
  /** Resolves when the work is done. */
  readonly run: (target: Target) => Promise<unknown>;
  /** Runs after the work is done. */
  readonly check?: (target: Target) => Promise<unknown>;
  /** Uploads continue during the work. Not possible during a rebuild, when the shard accepts none. */
  readonly isUnderLoad: boolean;
}

const CRON_EVERY_MS = 60_000;
/** Time for a cron run, with a margin. */
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
      // An invocation may make 1,000 queries, and the move of a slot makes about 20.
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
        // A rebuild that was killed after its last step is complete.
        isDone = body.code === 'not_empty' || body.finished;
        if (body.code !== 'not_empty') expect(status, JSON.stringify(body)).toBe(200);
      }
    },
  },
} as const satisfies Record<string, Work>;

export type WorkName = keyof typeof WORKS;
export const WORK_NAMES = Object.keys(WORKS) as WorkName[];

/** Kills the server `kills` times during one kind of work, and each time runs the work again to its end. */
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
    // Stops writing until shortly before cron. A minute of uploads would be too much to read back in each round.
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
    // The first run completes, to measure how long the work takes.
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
    // The id of the database that owns the location has no second copy: a damaged one stops the shard.
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

/** @returns the files of the databases that contain versions. */
export function listShards(directory: string): string[] {
  const databases = join(directory, 'd1/miniflare-D1DatabaseObject');
  const files = readdirSync(databases).filter((file) => file.endsWith('.sqlite'));
  return files.map((file) => join(databases, file)).filter(hasVersions);
}

function hasVersions(file: string): boolean {
  const database = new DatabaseSync(file);
  try {
    return database.prepare('SELECT 1 FROM version LIMIT 1').get() !== undefined;
  } catch {
    // DIRECTORY does not have this table.
    return false;
  } finally {
    database.close();
  }
}
