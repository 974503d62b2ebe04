/**
 * Replicas of DIRECTORY: copies that replay the writes of the primary in order, each some time after its commit. The lags are drawn
 * from a seed. Like a replica of D1, a copy answers from its own state, even if that is old.
 */
import type { Fetcher } from './d1-wire.ts';
import { type Region, roundTripMs } from './world.ts';

/** Regions that have a replica of DIRECTORY. Clients in other regions query the nearest one. */
export const REPLICA_REGIONS = ['syd', 'iad'] as const satisfies readonly Region[];
export const nearestReplica = (region: Region): Region =>
  REPLICA_REGIONS.reduce<Region>(
    (nearest, each) => (roundTripMs(region, each) < roundTripMs(region, nearest) ? each : nearest),
    REPLICA_REGIONS[0],
  );
/** Names of the replicas' databases in the environment: `DIRECTORY_` and the region. */
export const REPLICA_BINDINGS = REPLICA_REGIONS.map((region) => `DIRECTORY_${region.toUpperCase()}`);

/** Path at which the measured Worker receives a write for its replicas: `Write` as JSON. */
export const REPLICATE_PATH = '/__globe/replicate';
/** Path at which the measured Worker brings all replicas up to date. */
export const CATCH_UP_PATH = '/__globe/catch-up';

/** A batch that wrote to DIRECTORY, as the client of D1 sent it. */
export interface Write {
  readonly url: string;
  readonly body: string;
}

interface Copy {
  readonly due: { readonly write: Write; readonly visibleAt: number }[];
  turn: Promise<unknown>;
}

/** Maximum delay in milliseconds from a commit until a replica shows it. */
const LAG_MS_MAX = 2_000;
const SEED = 20_261_123;

/** Makes a generator of numbers from 0 to 1, reproducible by its seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Replicas {
  readonly #random = createRandom(SEED);
  readonly #copies = new Map<Region, Copy>(
    REPLICA_REGIONS.map((region) => [region, { due: [], turn: Promise.resolve() }]),
  );

  add(write: Write): void {
    for (const { due } of this.#copies.values()) {
      // Make no write visible before the one that precedes it, because a replica applies writes in order.
      const visibleAt = Math.max(Date.now() + this.#random() * LAG_MS_MAX, due.at(-1)?.visibleAt ?? 0);
      due.push({ write, visibleAt });
    }
  }

  /**
   * Returns the D1 client of the region's replica, once the replica has applied every write that is due. Null if the region has no
   * replica.
   */
  async at(region: Region, env: object, now = Date.now()): Promise<Fetcher | null> {
    const copy = this.#copies.get(region);
    const database: unknown = Reflect.get(env, `DIRECTORY_${region.toUpperCase()}`);
    if (!copy || !database) return null;
    const { fetcher } = database as { fetcher: Fetcher };
    const replay = async () => {
      for (let next = copy.due[0]; next && next.visibleAt <= now; next = copy.due[0]) {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetcher.fetch(next.write.url, { method: 'POST', headers, body: next.write.body });
        if (!answer.ok) throw new Error(`a replica failed to replay: ${await answer.text()}`);
        await answer.arrayBuffer();
        copy.due.shift();
      }
    };
    copy.turn = copy.turn.then(replay, replay);
    await copy.turn;
    return fetcher;
  }

  /** Brings all replicas up to date, without waiting for their delays. */
  async catchUp(env: object): Promise<void> {
    for (const region of REPLICA_REGIONS) await this.at(region, env, Number.POSITIVE_INFINITY);
  }
}
