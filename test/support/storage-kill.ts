/**
 * Kills the running server with SIGKILL at random moments, under a load of uploads or in the middle of background work that
 * an operator started, and holds every acknowledged object against the SHA-256 of what was sent.
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

/** A server with two shards, a bucket, and what was acknowledged there. */
class House {
  readonly server: TestServer;
  readonly acknowledged: Acknowledged[] = [];
  /** The clock goes past the leases of what died. */
  clockOffsetSeconds = 0;
  /** Cron runs each minute from here on. */
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

  /** Several writers, for as long as `mayGoOn`. They end by themselves when the power goes: then nothing was promised. */
  async write(sizes: readonly number[], mayGoOn: () => boolean): Promise<void> {
    const writer = async () => {
      while (mayGoOn()) {
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

  /** Every acknowledged name is listed. */
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

  /** How long ago the journal of the bucket's shard was written. */
  journalAgeMs(): number {
    const [file = ''] = listShards(this.server.directory);
    const database = new DatabaseSync(file);
    const row = database.prepare("SELECT updated_at FROM task WHERE name = 'journal flushed'").get();
    database.close();
    return Date.now() + this.clockOffsetSeconds * 1000 - Number(row?.updated_at ?? 0);
  }

  /** Two hours later everything that the kills left behind is collected, and nothing else. */
  async verifyNothingMissing(): Promise<void> {
    await this.server.stop();
    this.clockOffsetSeconds += 7_200;
    await this.restart();
    expect(await this.operate('gc', { max_seconds: 300 })).toMatchObject({ finished: true });
    expect(await this.operate('fsck')).toMatchObject({ dry_run: true, ...CLEAN_FSCK });
  }

  outcome(kills: number): KillOutcome {
    return { kills, acknowledged: this.acknowledged.length, lost: 0 };
  }
}

export async function killStorage(kills: number): Promise<KillOutcome> {
  await using server = await startServer({ objectShards: 2 });
  const house = new House(server);
  await house.open();
  for (let kill = 0; kill < kills; kill++) {
    const state = { isUp: true };
    const writing = house.write(SIZES, () => state.isUp);
    await sleep(300 + Math.random() * 1500);
    await house.server.kill9();
    state.isUp = false;
    await writing;
    await house.restart();
    await house.verify(house.acknowledged.slice(-200));
  }
  await house.verify();
  await house.verifyNothingMissing();
  return house.outcome(kills);
}

interface Work {
  /** While the server is stopped. */
  readonly prepare?: (directory: string) => void;
  /** What is waited for before `run` does anything. */
  readonly beginsInMs?: (house: House) => number;
  /** Until it is done. */
  readonly run: (house: House) => Promise<unknown>;
  /** After it is done. */
  readonly check?: (house: House) => Promise<unknown>;
  /** Uploads go on meanwhile: not beside a rebuild, whose shard takes none. */
  readonly isUnderLoad: boolean;
}

const CRON_EVERY_MS = 60_000;
/** For what cron does, and a margin. */
const CRON_MS = 2_000;
const WRITE_AHEAD_MS = 2_000;

const WORKS = {
  packing: { isUnderLoad: true, run: (house) => house.operate('gc', { pack: true }) },
  'scrub and repair': {
    isUnderLoad: true,
    prepare: damageCopies,
    run: (house) => house.operate('scrub'),
    check: async (house) =>
      expect(await house.operate('scrub')).toMatchObject({
        finished: true,
        bad_copies: 0,
        missing_copies: 0,
        lost_blobs: 0,
      }),
  },
  'moves of slots': {
    isUnderLoad: true,
    async run(house) {
      const slots = Array.from({ length: 64 }, (_, i) => i * 4);
      for (const to_shard of [1, 0]) await house.operate('slots/move', { bucket: 'kept', to_shard, slots });
    },
  },
  'a snapshot': { isUnderLoad: true, run: (house) => house.operate('snapshot') },
  'what cron does': {
    isUnderLoad: true,
    beginsInMs: (house) => house.msUntilCron(),
    run: (house) => sleep(house.msUntilCron() + CRON_MS),
    check: async (house) => expect(house.journalAgeMs()).toBeLessThan(CRON_EVERY_MS),
  },
  'a rebuild': {
    isUnderLoad: false,
    prepare: loseFirstShard,
    async run(house) {
      for (let isDone = false; !isDone; ) {
        const { status, body } = await house.server.call('POST', '/v1/storage/rebuild', { shard: 0 });
        // One that was killed after its last step is rebuilt.
        isDone = body.code === 'not_empty' || body.finished;
        if (body.code !== 'not_empty') expect(status, JSON.stringify(body)).toBe(200);
      }
    },
  },
} as const satisfies Record<string, Work>;

export type WorkName = keyof typeof WORKS;
export const WORK_NAMES = Object.keys(WORKS) as WorkName[];

/** Kills the server so many times in the middle of one kind of work, and lets the work be done again to its end. */
export async function killMaintenance(name: WorkName, kills: number): Promise<KillOutcome> {
  const work: Work = WORKS[name];
  await using server = await startServer({ objectShards: 2 });
  const house = new House(server);
  await house.open();
  let shortestMs: number | null = null;
  let killed = 0;
  for (let round = 0; killed < kills; round++) {
    expect(round, 'kills that found the work already done').toBeLessThan(kills * 4);
    const until = Date.now() + 1_500;
    await house.write(SMALL_SIZES, () => Date.now() < until);
    if (work.prepare) {
      await house.operate('snapshot');
      await server.stop();
      work.prepare(server.directory);
      await house.restart();
    }
    // Uploads of a minute would be more than can be read back in each round.
    if (work.beginsInMs) await sleep(Math.max(0, work.beginsInMs(house) - WRITE_AHEAD_MS));
    const state = { isUp: true };
    const writing = work.isUnderLoad ? house.write(SMALL_SIZES, () => state.isUp) : null;
    const waitMs = work.beginsInMs?.(house) ?? 0;
    const beganAt = Date.now();
    const running = work.run(house).then(
      () => 'done' as const,
      () => 'cut off' as const,
    );
    const isOver = running.then((outcome) => {
      const tookMs = Date.now() - beganAt - waitMs;
      if (outcome === 'done') shortestMs = Math.min(shortestMs ?? tookMs, tookMs);
      return true;
    });
    // The first goes to its end, and tells how long that takes.
    if (shortestMs === null) await isOver;
    else {
      await sleep(waitMs + Math.random() * shortestMs);
      if (!(await Promise.race([isOver, sleep(0, false)]))) killed++;
      await house.killAndRestart();
    }
    state.isUp = false;
    await Promise.all([writing, isOver]);
    if (work.isUnderLoad) await house.verify(house.acknowledged.slice(-200));
    await work.run(house);
    await work.check?.(house);
    await house.verify();
    await house.verifyListing();
  }
  await house.verifyNothingMissing();
  return house.outcome(killed);
}

/** One byte of each third blob of the second location. */
function damageCopies(directory: string): void {
  const blobs = join(directory, 'r2/tessera-blobs-2/blobs');
  for (const [i, name] of readdirSync(blobs).entries()) {
    const bytes = readFileSync(join(blobs, name));
    if (i % 3 !== 0 || bytes.length === 0) continue;
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    writeFileSync(join(blobs, name), bytes);
  }
}

/** Removes the file of the database that holds the bucket: `OBJECTS_0`, the first of two empty ones. */
export function loseFirstShard(directory: string): void {
  const lost = listShards(directory);
  expect(lost).toHaveLength(1);
  for (const end of ['', '-shm', '-wal']) rmSync(`${lost[0]}${end}`, { force: true });
}

/** The files of the databases that hold versions. */
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
    // DIRECTORY has no such table.
    return false;
  } finally {
    database.close();
  }
}
