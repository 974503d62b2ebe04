/**
 * Two thousand boards made by first posts, one in ten of them busy, with deletions and new boards of the same names among the posts. Each
 * board is compared with a model: its scores, ranks and order, and that no score of a deleted board comes back.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rankOf, scoreAfter } from '../../support/leaderboard/boards.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

const BOARDS = Number(process.env.BOARDS ?? 2_000);
const BUSY_EVERY = 10;
const WORKERS = 16;
const ACTIONS = 4 * BOARDS;
const PLAYERS = 40;
/** Chances of an action on a board. The others are posts. */
const DELETES = 0.01;
const READS = 0.05;
const REPEATS = 0.1;
const KINDS = [
  { sort: 'desc', operator: 'sum', period: 'none' },
  { sort: 'asc', operator: 'best', period: 'week' },
  { sort: 'desc', operator: 'last', period: 'month' },
] as const;

interface Player {
  score: number;
  /** Number of the action that made the score: who reached it first stands first. */
  since: number;
}

interface Update {
  readonly user_id: string;
  readonly points: number;
  readonly event_id: string;
}

/** A board as it must be. */
class Model {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  players = new Map<string, Player>();
  exists = false;
  last: readonly Update[] = [];
  #actions = 0;

  constructor(place: number) {
    const number = place % KINDS.length;
    this.kind = KINDS[number] as (typeof KINDS)[number];
    this.name = `kind${number}-${place}`;
  }

  post(updates: readonly Update[]): void {
    this.exists = true;
    this.last = updates;
    for (const { user_id, points } of updates) {
      const before = this.players.get(user_id);
      const score = scoreAfter(this.kind, before?.score ?? null, points);
      if (score !== before?.score) this.players.set(user_id, { score, since: ++this.#actions });
    }
  }

  delete(): void {
    [this.players, this.exists, this.last] = [new Map(), false, []];
  }

  get list() {
    const sign = this.kind.sort === 'asc' ? 1 : -1;
    const scores = [...this.players.values()].map(({ score }) => score);
    return [...this.players]
      .sort(([, a], [, b]) => sign * (a.score - b.score) || a.since - b.since)
      .map(([user_id, { score }]) => ({ user_id, score, rank: rankOf(this.kind, score, scores) }));
  }
}

/** Creates the boards that make the others. @returns a token that may make boards */
async function makeMakers(): Promise<string> {
  for (const [number, kind] of KINDS.entries()) {
    const rules = { title: 'Level', public: true, makes_boards: `kind${number}-`, ...kind };
    expect((await server.call('PUT', `/v1/boards/kind${number}`, rules)).status).toBe(200);
  }
  const scopes = ['scores:write', 'boards:create'];
  return (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes })).body.token;
}

/** Compares the list of the boards of a kind, which comes in pages. */
async function compareLists(models: readonly Model[]): Promise<void> {
  const listed: string[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await server.call('GET', `/v1/boards?prefix=kind1-&limit=200${cursor}`);
    listed.push(...body.data.map(({ board }: { board: string }) => board));
    if (body.next_cursor === null) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  const living = models.filter(({ name, exists }) => exists && name.startsWith('kind1-')).map(({ name }) => name);
  expect(listed).toEqual(living.sort());
}

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

it('2,000 boards of one object each agree with the model, through deletions and new boards of the same names', async () => {
  const random = createRandom(announceSeed());
  const token = await makeMakers();
  const models = Array.from({ length: BOARDS }, (_, place) => new Model(place));
  const busy = models.filter((_, place) => place % BUSY_EVERY === 0);
  let events = 0;
  const counts = { posts: 0, updates: 0, deletions: 0, reads: 0, busy429: 0 };

  const post = async (model: Model, updates: readonly Update[], isRepeated = false) => {
    for (;;) {
      const path = `/v1/boards/${model.name}/scores/batch`;
      const { status, body } = await server.call('POST', path, { updates }, token);
      expect([model.name, status]).toEqual([model.name, 200]);
      const codes = body.results.flatMap((result: { code?: string }) => result.code ?? []);
      if (codes.length === 0) {
        expect(body.results.every((result: { duplicate: boolean }) => result.duplicate === isRepeated)).toBe(true);
        break;
      }
      // Beyond the rate of the board nothing counts; the repeat does.
      expect(new Set(codes)).toEqual(new Set(['board_busy']));
      counts.busy429++;
    }
    if (!isRepeated) model.post(updates);
    counts.posts++;
    counts.updates += updates.length;
  };
  const compare = async (model: Model) => {
    const { status, body } = await server.call('GET', `/v1/boards/${model.name}/scores?exact=1&limit=100`);
    if (!model.exists) return expect([model.name, status]).toEqual([model.name, 404]);
    const shown = body.data.map(({ user_id, score, rank }: never) => ({ user_id, score, rank }));
    expect([model.name, shown]).toEqual([model.name, model.list]);
  };
  const updatesOf = (): Update[] =>
    Array.from({ length: 1 + Math.floor(random() * 10) }, () => ({
      user_id: `p${Math.floor(random() * PLAYERS)}`,
      points: Math.floor(random() * 50),
      event_id: `e${++events}`,
    }));
  const act = async (model: Model) => {
    const chance = random();
    if (model.exists && chance < DELETES) {
      expect((await server.call('DELETE', `/v1/boards/${model.name}`)).status).toBe(204);
      model.delete();
      counts.deletions++;
      if (random() < 0.8) await post(model, updatesOf());
    } else if (chance < DELETES + READS) {
      await compare(model);
      counts.reads++;
    } else if (model.last.length > 0 && chance < DELETES + READS + REPEATS) await post(model, model.last, true);
    else await post(model, updatesOf());
  };

  // Each board belongs to one worker, so the order of its posts is known. The boards of one worker are mixed.
  const startedAt = Date.now();
  const ofWorker = (worker: number) => (model: Model) => models.indexOf(model) % WORKERS === worker;
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      const own = models.filter(ofWorker(worker));
      const ownBusy = busy.filter(ofWorker(worker));
      for (const model of own) await post(model, updatesOf());
      for (let action = 0; action < ACTIONS / WORKERS; action++) {
        const some = ownBusy.length > 0 && random() < 0.9 ? ownBusy : own;
        await act(some[Math.floor(random() * some.length)] as Model);
      }
    }),
  );
  console.log({ ...counts, seconds: Math.round((Date.now() - startedAt) / 1000) });
  for (const model of models) await compare(model);

  await compareLists(models);

  // Cron erases what was deleted, and only that.
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: '120' });
  await expect.poll(async () => (await server.call('GET', '/v1/health')).status, { timeout: 60_000 }).toBe(200);
  for (const model of models.filter((_, place) => place % 7 === 0)) await compare(model);
}, 1_800_000);
