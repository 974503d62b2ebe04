/** The power of a season object that closes its month: it goes at one chosen step of all that the object does outside its memory. */
import { env } from 'cloudflare:test';

export interface Cut {
  /** Which step it comes at, counted from 1; 0 for never. */
  readonly at: number;
  /** After it: what the step did is done, and its answer is lost. */
  readonly side: 'before' | 'after';
  /** The first file of the archive is not kept by the first location, so that a second attempt is made. */
  readonly isFileLost: boolean;
}

/** The bindings that closings and erasures use: which methods are steps, and which return an object whose methods are. */
const BINDINGS: Record<string, { readonly steps: string; readonly makers: string }> = {
  BLOBS: { steps: 'put get delete list', makers: '' },
  BLOBS_2: { steps: 'put get delete list', makers: '' },
  DIRECTORY: { steps: 'run all raw first', makers: 'prepare bind' },
  LEADERBOARD_SHARD: { steps: 'seal run readByUserId erase destroy', makers: 'get' },
};

/** Knows every step that the season object takes, and cuts its power at one of them. */
export class Power {
  readonly #cut: Cut;
  #isOff = false;
  #isFileLost: boolean;
  #season: DurableObjectState | undefined;
  /** What each step was that was begun. */
  readonly steps: string[] = [];

  constructor(cut: Cut) {
    this.#cut = cut;
    this.#isFileLost = !cut.isFileLost;
  }

  /** Whose power it is, from now on: an object that started anew after a cut has power again. */
  connect(season: DurableObjectState): void {
    this.#season = season;
    this.#isOff = false;
  }

  /** The bindings as the season object is to see them. */
  get env(): Env {
    const watched = Object.keys(BINDINGS).map((name) => [name, this.#watch(Reflect.get(env, name), name)]);
    return { ...env, ...Object.fromEntries(watched) };
  }

  /** A write of the object's own SQL. With the power off, what was not committed yet is lost as well. */
  write<T>(what: string, work: () => T): T {
    const isCut = this.#isCutAt(what);
    if (isCut && this.#cut.side === 'before') this.#off();
    const result = work();
    if (isCut) this.#off();
    return result;
  }

  async call<T>(what: string, work: () => Promise<T>): Promise<T> {
    const isCut = this.#isCutAt(what);
    if (isCut && this.#cut.side === 'before') this.#off();
    const result = await work();
    if (isCut) this.#off();
    return result;
  }

  #isCutAt(what: string): boolean {
    if (this.#isOff) throw new Error(`the power is off: ${what}`);
    return this.steps.push(what) === this.#cut.at;
  }

  #off(): never {
    this.#isOff = true;
    this.#season?.abort('the power is cut');
    throw new Error('the power is cut');
  }

  #watch<T extends object>(target: T, name: string): T {
    const isIn = (names: string | undefined, key: string | symbol) => names?.split(' ').includes(String(key));
    return new Proxy(target, {
      get: (_, key) => {
        const method: unknown = Reflect.get(target, key);
        if (typeof method !== 'function') return method;
        const use = (values: unknown[]) => Reflect.apply(method, target, values);
        if (isIn(BINDINGS[name]?.makers, key)) return (...values: unknown[]) => this.#watch(use(values), name);
        if (!isIn(BINDINGS[name]?.steps, key)) return (...values: unknown[]) => use(values);
        return (...values: unknown[]) =>
          this.call(`${name}.${String(key)}`, async () => {
            if (key === 'put' && this.#isLost(String(values[0]))) return null;
            return await use(values);
          });
      },
    });
  }

  #isLost(key: string): boolean {
    if (this.#isFileLost || !key.endsWith('/standings/00000000.json')) return false;
    this.#isFileLost = true;
    return true;
  }
}
