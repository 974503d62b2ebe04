/**
 * Simulates the power supply of a season object that closes its month. Cuts it at one chosen step, where a step is any
 * effect outside memory.
 */
import { env } from 'cloudflare:test';

const POWER_CUT = 'the power is cut';

export interface Cut {
  /** Number of the step at which the power is cut, from 1; 0 for no cut. */
  readonly at: number;
  /** With `after`, the step takes effect but its result is lost. */
  readonly side: 'before' | 'after';
}

/**
 * Bindings that closings and erasures use, with patterns of method names. `steps` matches methods that count as steps; `makers`
 * matches methods that return objects with such methods.
 */
const BINDINGS: Record<string, { readonly steps: string; readonly makers: string }> = {
  BLOBS: { steps: 'put get delete list', makers: '' },
  BLOBS_2: { steps: 'put get delete list', makers: '' },
  DIRECTORY: { steps: 'run all raw first', makers: 'prepare bind' },
  LEADERBOARD_SHARD: { steps: 'seal erase restore', makers: 'get' },
};

/** Counts the steps of the season object and cuts its power at one of them. */
export class Power {
  readonly #cut: Cut;
  #isOff = false;
  #season: DurableObjectState | undefined;
  /** Names of all steps that were begun, in order. */
  readonly steps: string[] = [];

  constructor(cut: Cut) {
    this.#cut = cut;
  }

  /** Connects the running season object. After a cut, the restarted object connects and has power again. */
  connect(season: DurableObjectState): void {
    this.#season = season;
    this.#isOff = false;
  }

  /** Whether the power is on. While it is off, nothing the object does has an effect. */
  get isOn(): boolean {
    return !this.#isOff;
  }

  /** Returns the bindings for the season object, wrapped to count steps. */
  get env(): Env {
    const watched = Object.keys(BINDINGS).map((name) => [name, this.#watch(Reflect.get(env, name), name)]);
    return { ...env, ...Object.fromEntries(watched) };
  }

  /** Runs a write to the object's own SQL. A power cut also discards uncommitted writes. */
  write<T>(name: string, work: () => T): T {
    const isCut = this.#isCutAt(name);
    if (isCut && this.#cut.side === 'before') this.#off();
    const result = work();
    if (isCut) this.#off();
    return result;
  }

  async call<T>(name: string, work: () => Promise<T>): Promise<T> {
    const isCut = this.#isCutAt(name);
    if (isCut && this.#cut.side === 'before') this.#off();
    const result = await work();
    if (isCut) this.#off();
    return result;
  }

  #isCutAt(name: string): boolean {
    if (this.#isOff) throw new Error(`the power is off: ${name}`);
    return this.steps.push(name) === this.#cut.at;
  }

  #off(): never {
    this.#isOff = true;
    this.#season?.abort(POWER_CUT);
    throw new Error(POWER_CUT);
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
        return (...values: unknown[]) => this.call(`${name}.${String(key)}`, async () => await use(values));
      },
    });
  }
}
