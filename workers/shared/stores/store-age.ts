/**
 * Finds out a database that was put back to an earlier state, as D1's Time Travel does: its number (`age-store.ts`) is lower than the
 * number in the locations. docs/design/restores.md.
 *
 * Each isolate compares the two numbers of a database at most once in ten seconds, when the database is used. It asks the primary and
 * never a replica, which may be behind by any time.
 */
import { inTime } from '../concurrency/in-time.ts';
import { MisconfiguredError } from '../settings/settings.ts';
import { logError } from '../telemetry/log.ts';
import { type AgeKind, isRefusedAsOlder, readNumber, refuseOlder } from './age-store.ts';
import { isSuspected, type Locations } from './quorum.ts';

/** A database with the place of its number outside. */
export interface AgedStore {
  /** Name of the binding, such as `OBJECTS_0`. */
  readonly name: string;
  readonly kind: AgeKind;
  readonly database: D1Database;
}

/** Key of the object in each location that has the number of a database. Its member `epoch` or `number` is the number. */
export function ageKeyOf(name: string): string {
  const number = Number(name.split('_')[1] ?? 0);
  if (name.startsWith('OBJECTS_')) return `owners/objects-${number}`;
  return number === 0 ? 'ages/directory' : `ages/directory-${number}`;
}

export const ageKindOf = (name: string): AgeKind => (name.startsWith('OBJECTS_') ? 'objects' : 'directory');

/** Reads the number that a location has. @returns 0 if it has none. */
export async function readOutside(bucket: R2Bucket, name: string): Promise<{ number: number; etag: string | null }> {
  const object = await bucket.get(ageKeyOf(name));
  if (object === null) return { number: 0, etag: null };
  const { epoch, number } = await object.json<{ epoch?: number; number?: number }>();
  return { number: epoch ?? number ?? 0, etag: object.etag };
}

/** Thrown when a request needs a database that was put back to an earlier state. */
export class OlderStoreError extends MisconfiguredError {
  constructor(name: string) {
    super({ name, message: 'was put back to an earlier state and has not been replayed' });
    this.name = 'OlderStoreError';
  }
}

/** Time for which an isolate uses the outcome of a comparison. */
export const FRESH_MS = 10_000;
/** Time after which a request no longer waits for a comparison. Without an outcome, the last one holds. */
export const COMPARE_MAX_MS = 1_000;
/** Time until the next attempt if a store did not answer. */
export const RETRY_MS = 3_000;
/** Time limit of a location, after which the next one is asked. */
const LOCATION_MS = 400;
/**
 * The same limits before an isolate has a first outcome. Until then it would serve a database that was put back, so it waits longer for
 * slow locations, but for at most two comparisons: those that do not answer must stop no request.
 */
const FIRST_COMPARE_MAX_MS = 3_000;
const FIRST_LOCATION_MS = 1_200;
const FIRST_COMPARISONS_MAX = 2;
const POLL_MS = 5;

const LATE = Symbol('late');

/** Asks as many locations as have at least one of every quorum. @returns null if too few answer in time. */
export async function askLocations<T>(
  { locations, quorum }: Pick<Locations, 'locations' | 'quorum'>,
  ask: (bucket: R2Bucket) => Promise<T>,
  limitMs = LOCATION_MS,
): Promise<T[] | null> {
  const needed = locations.length - quorum + 1;
  const waiting = [...locations].sort((a, b) => Number(isSuspected(a)) - Number(isSuspected(b)));
  const found: T[] = [];
  while (found.length < needed && waiting.length > 0) {
    const asked = waiting.splice(0, needed - found.length);
    const answers = await Promise.all(asked.map((bucket) => inTime(ask(bucket), limitMs, LATE).catch(() => LATE)));
    for (const answer of answers) if (answer !== LATE) found.push(answer as T);
  }
  return found.length < needed ? null : found;
}

/** Reads the greatest number that the locations have of a database. @returns null if too few answer. */
async function readGreatest(
  target: Pick<Locations, 'locations' | 'quorum'>,
  name: string,
  limitMs: number,
): Promise<number | null> {
  const answers = await askLocations(target, (bucket) => readOutside(bucket, name), limitMs);
  return answers && Math.max(...answers.map(({ number }) => number));
}

/** Compares a database with the locations. @returns null if they cannot be compared. */
export async function compareAge(
  { name, kind, database }: AgedStore,
  target: Pick<Locations, 'locations' | 'quorum'>,
  limitMs = LOCATION_MS,
): Promise<{ readonly outside: number; readonly isOlder: boolean } | null> {
  const [outside, first] = await Promise.all([readGreatest(target, name, limitMs), readNumber(database, kind)]);
  if (outside === null) return null;
  if (first === null || first >= outside) return { outside, isOlder: false };
  // The number may have risen after the database answered. An answer that is asked for now is later than the one of the location.
  const second = await readNumber(database, kind);
  return { outside, isOlder: second !== null && second < outside };
}

/** What an isolate knows of the age of a database. */
export class StoreAge {
  readonly #store: AgedStore;
  readonly #target: () => Pick<Locations, 'locations' | 'quorum'>;
  #outside: number | null = null;
  #isOlder = false;
  /** Time from which the numbers are compared again. */
  #dueAt = 0;
  /** Start of the comparison that is running. A request that was cancelled does not end it. */
  #startedAt: number | null = null;
  /** Number of comparisons without an outcome before the first outcome. */
  #failures = 0;

  /** @param target the locations. The function may throw while the settings are bad; the numbers are not compared then. */
  constructor(store: AgedStore, target: () => Pick<Locations, 'locations' | 'quorum'>) {
    this.#store = store;
    this.#target = target;
  }

  /** @throws OlderStoreError if the database was put back to an earlier state at least ten seconds ago. */
  async check(): Promise<void> {
    if (Date.now() >= this.#dueAt) await this.#compareTogether();
    if (this.#isOlder) throw new OlderStoreError(this.#store.name);
  }

  /** Makes the next request compare the numbers again. */
  forget(): void {
    this.#dueAt = 0;
  }

  /** The statement that refuses a batch if the database is older; null while nothing is known outside. */
  toGuard(): D1PreparedStatement | null {
    const { database, kind } = this.#store;
    return this.#outside ? refuseOlder(database, kind, this.#outside) : null;
  }

  /** Notes that the guard refused a batch. @throws OlderStoreError in that case, else the error itself. */
  rethrow(error: unknown): never {
    if (!isRefusedAsOlder(error)) throw error;
    this.#note(true, Date.now());
    throw new OlderStoreError(this.#store.name);
  }

  /** Compares the numbers, or waits for the comparison of another request. Requests share values and no promise. */
  async #compareTogether(): Promise<void> {
    const isFirst = this.#outside === null && this.#failures < FIRST_COMPARISONS_MAX;
    const limitMs = isFirst ? FIRST_COMPARE_MAX_MS : COMPARE_MAX_MS;
    for (;;) {
      const since = this.#startedAt;
      if (since === null || Date.now() - since > limitMs) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    if (Date.now() < this.#dueAt) return;
    const startedAt = Date.now();
    this.#startedAt = startedAt;
    try {
      const found = await inTime(this.#compare(isFirst ? FIRST_LOCATION_MS : LOCATION_MS), limitMs, null);
      if (found === null) {
        this.#failures++;
        this.#dueAt = startedAt + RETRY_MS;
        return;
      }
      this.#outside = found.outside;
      this.#note(found.isOlder, startedAt);
    } finally {
      this.#startedAt = null;
    }
  }

  async #compare(limitMs: number): ReturnType<typeof compareAge> {
    try {
      return await compareAge(this.#store, this.#target(), limitMs);
    } catch {
      // A database that fails here fails for the request as well, and health names it.
      return null;
    }
  }

  #note(isOlder: boolean, at: number): void {
    if (isOlder && !this.#isOlder)
      logError('store_older', 'a database was put back to an earlier state', { database: this.#store.name });
    this.#isOlder = isOlder;
    this.#dueAt = at + FRESH_MS;
  }
}
