/**
 * A D1 database with read replicas, each a database of its own that replays the batches of the primary in order. A replica can lag,
 * be stuck, or be cut off. `withSession` with a bookmark does not wait: if the replica is behind the bookmark, the primary answers,
 * as in D1. Local D1 itself has only one copy.
 */

export type ReplicaFault = 'lags' | 'stuck' | 'cut off';

interface Logged {
  readonly sql: string;
  readonly values: readonly unknown[];
}

interface Replica {
  readonly copy: D1Database;
  fault: ReplicaFault;
  /** Number of batches that the replica has replayed. */
  applied: number;
  /** Promise of the replays in progress; the next replay waits for it. */
  turn: Promise<unknown>;
}

/** Expressions whose value would differ in a replay. D1 replicates pages, but this class replays statements. */
const NOT_REPLAYABLE = /\brandom(?:blob)?\s*\(|\bCURRENT_(?:TIME|DATE|TIMESTAMP)\b|'now'/i;
const IS_READ = /^\s*(?:SELECT|PRAGMA)\b/i;

type Rows = { results: unknown[]; success: true; meta: Record<string, unknown> };

export class ReplicatedDatabase {
  readonly #primary: D1Database;
  readonly #replicas = new Map<string, Replica>();
  /** Batches of the primary that wrote. A bookmark is the number of batches. */
  readonly #log: (readonly Logged[])[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  readonly #random: () => number;

  constructor(primary: D1Database, copies: Readonly<Record<string, D1Database>>, random: () => number) {
    this.#primary = primary;
    this.#random = random;
    for (const [region, copy] of Object.entries(copies)) {
      this.#replicas.set(region, { copy, fault: 'lags', applied: 0, turn: Promise.resolve() });
    }
  }

  setFault(region: string, fault: ReplicaFault): void {
    const replica = this.#replicas.get(region);
    if (replica) replica.fault = fault;
  }

  /** Brings every replica up to date. */
  async catchUp(): Promise<void> {
    await Promise.all([...this.#replicas.values()].map((replica) => this.#replay(replica, 1)));
  }

  /** Returns the D1 database as the code in a region sees it. */
  viewFrom(region: string): D1Database {
    const inPrimary = (batch: readonly Logged[]) => this.#runInPrimary(batch);
    const database = facade(inPrimary);
    const withSession = (constraint = 'first-primary') => {
      let bookmark = constraint;
      const run = (batch: readonly Logged[]) => this.#runInSession(region, bookmark, batch);
      return Object.assign(
        facade(async (batch) => {
          const { rows, at } = await run(batch);
          bookmark = toBookmark(at);
          return rows;
        }),
        { getBookmark: () => bookmark },
      );
    };
    return Object.assign(database, { withSession }) as unknown as D1Database;
  }

  async #runInSession(region: string, bookmark: string, batch: readonly Logged[]) {
    const replica = this.#replicas.get(region);
    const isWrite = batch.some(({ sql }) => !IS_READ.test(sql) && !/^\s*WITH\b/i.test(sql));
    const needed = bookmark.startsWith('first-') ? 0 : Number(bookmark);
    if (replica && !isWrite && bookmark !== 'first-primary') {
      if (replica.fault === 'cut off') throw new Error('D1_ERROR: Network connection lost (injected)');
      const at = await this.#replay(replica, replica.fault === 'stuck' ? 0 : this.#random());
      if (at >= needed) return { rows: await runBatch(replica.copy, batch), at };
    }
    return { rows: await this.#runInPrimary(batch), at: this.#log.length };
  }

  /** Replays a share of the batches that the replica lacks. @returns the number of batches that it then has. */
  #replay(replica: Replica, share: number): Promise<number> {
    const replay = async () => {
      const missing = this.#log.length - replica.applied;
      const count = Math.round(missing * share);
      for (let step = 0; step < count; step++) {
        await runBatch(replica.copy, this.#log[replica.applied] ?? []);
        replica.applied++;
      }
      return replica.applied;
    };
    const replaying = replica.turn.then(replay, replay);
    replica.turn = replaying;
    return replaying;
  }

  /** Runs batches one after the other, so that the log has the order of the commits. */
  #runInPrimary(batch: readonly Logged[]): Promise<Rows[]> {
    const writes = batch.filter(({ sql }) => !IS_READ.test(sql));
    const bad = writes.find(({ sql }) => NOT_REPLAYABLE.test(sql));
    if (bad) throw new Error(`this statement would not replicate: ${bad.sql}`);
    if (writes.length === 0) return runBatch(this.#primary, batch);
    const run = async () => {
      const rows = await runBatch(this.#primary, batch);
      this.#log.push(batch);
      return rows;
    };
    const running = this.#turn.then(run, run);
    this.#turn = running;
    return running;
  }
}

const toBookmark = (at: number): string => String(at).padStart(10, '0');

async function runBatch(database: D1Database, batch: readonly Logged[]): Promise<Rows[]> {
  const statements = batch.map(({ sql, values }) => database.prepare(sql).bind(...values));
  return (await database.batch(statements)) as unknown as Rows[];
}

/** Makes a D1 client whose batches are executed by `run`. */
function facade(run: (batch: readonly Logged[]) => Promise<Rows[]>) {
  const logged = new WeakMap<object, Logged>();
  const prepare = (sql: string, values: readonly unknown[] = []): object => {
    const all = async () => (await run([{ sql, values }]))[0] as Rows;
    const toValues = (row: unknown) => Object.values(row as object);
    const statement = {
      bind: (...bound: unknown[]) => prepare(sql, bound),
      all,
      run: all,
      raw: async () => (await all()).results.map(toValues),
      async first(column?: string) {
        const row = (await all()).results[0] as Record<string, unknown> | undefined;
        if (row === undefined) return null;
        return column === undefined ? row : row[column];
      },
    };
    logged.set(statement, { sql, values });
    return statement;
  };
  return {
    prepare: (sql: string) => prepare(sql),
    batch: (statements: object[]) => run(statements.map((statement) => logged.get(statement) as Logged)),
  };
}
