/**
 * Numbers of objects that were put back to an earlier state and have not been replayed. Each location has the list, and so does one
 * small object. The storage of an object that was put back cannot tell it, so everything that uses the object compares the list:
 * docs/design/restores.md.
 *
 * Only code of an object can put it back, so the list is written before. It is almost always empty: an isolate reads it at most once in
 * ten seconds, whatever the number of objects.
 */
import { inTime } from '../concurrency/in-time.ts';
import { blobLocations, writeQuorum } from './bindings.ts';
import { putForwardInQuorum } from './forward-object.ts';
import type { Locations } from './quorum.ts';
import { askLocations, COMPARE_MAX_MS, FRESH_MS, RETRY_MS } from './store-age.ts';

export interface ObjectNumbers {
  /** Rises with each change of the list. */
  readonly version: number;
  /** Number by name of the object. An object with a lower number was put back. */
  readonly numbers: Readonly<Record<string, number>>;
}

export const NO_NUMBERS: ObjectNumbers = { version: 0, numbers: {} };

/** Kind of the objects of a list. */
export type AgedObject = 'mailboxes';

type Target = Pick<Locations, 'locations' | 'quorum'>;

const keyOf = (kind: AgedObject): string => `ages/${kind}`;

/** Reads the newest list of as many locations as have at least one of every quorum. @returns null if too few answer. */
async function readNewest(target: Target, kind: AgedObject): Promise<ObjectNumbers | null> {
  const answers = await askLocations(target, async (bucket) => {
    const object = await bucket.get(keyOf(kind));
    return object === null ? NO_NUMBERS : await object.json<ObjectNumbers>();
  });
  return answers?.reduce((newest, each) => (each.version > newest.version ? each : newest), NO_NUMBERS) ?? null;
}

const targetOf = (env: Env): Target => ({ locations: blobLocations(env), quorum: writeQuorum(env) });

/** Reads the list now. @throws if too few locations answer. */
export async function readObjectNumbers(env: Env, kind: AgedObject): Promise<ObjectNumbers> {
  const found = await readNewest(targetOf(env), kind);
  if (found === null) throw new Error('too few locations answer');
  return found;
}

/** Writes a list into a quorum of the locations, except where a later one is. */
export const writeObjectNumbers = (target: Omit<Locations, 'timeoutMs'>, kind: AgedObject, numbers: ObjectNumbers) =>
  putForwardInQuorum(target, keyOf(kind), numbers, (present) => present.version >= numbers.version);

/** What an isolate knows of a list. */
interface Known {
  list: ObjectNumbers | null;
  /** Time from which the list is read again. */
  dueAt: number;
}

const known = new WeakMap<object, Map<AgedObject, Known>>();

function knownOf(env: Env, kind: AgedObject): Known {
  const kinds = known.get(env) ?? new Map<AgedObject, Known>();
  known.set(env, kinds);
  const found = kinds.get(kind) ?? { list: null, dueAt: 0 };
  kinds.set(kind, found);
  return found;
}

/**
 * The number that the locations have of an object that was put back; 0 for any other object. At most ten seconds old, and older only
 * while the locations do not answer.
 */
export async function findOutsideNumber(env: Env, kind: AgedObject, name: string): Promise<number> {
  const mine = knownOf(env, kind);
  const now = Date.now();
  if (now >= mine.dueAt) {
    // Other requests use the last outcome meanwhile. Before the first one, each request reads the list itself.
    if (mine.list !== null) mine.dueAt = now + RETRY_MS;
    const found = await inTime(readOrNull(env, kind), COMPARE_MAX_MS, null);
    if (found !== null && found.version >= (mine.list?.version ?? 0)) mine.list = found;
    mine.dueAt = now + (found === null ? RETRY_MS : FRESH_MS);
  }
  return mine.list?.numbers[name] ?? 0;
}

async function readOrNull(env: Env, kind: AgedObject): Promise<ObjectNumbers | null> {
  try {
    return await readNewest(targetOf(env), kind);
  } catch {
    // A bad setting, or a location that fails. Health names both.
    return null;
  }
}

/** Makes the next request of this isolate read the list again. */
export const forgetObjectNumbers = (env: Env, kind: AgedObject): void => {
  knownOf(env, kind).dueAt = 0;
};
