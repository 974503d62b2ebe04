/** Deletions of many objects, with progress, a way to stop, and a list of what was not deleted. */
import { describeError } from '../shared/api.ts';
import { createStore } from '../shared/store.ts';
import {
  type DeleteFailure,
  type Doomed,
  type DoomedPage,
  deleteObjects,
  KEYS_PER_REQUEST,
  listAllVersions,
  listKeys,
} from './bulk.ts';
import { notifyChange } from './key.ts';
import type { Key } from './s3.ts';

export interface Job {
  id: string;
  title: string;
  state: 'running' | 'done' | 'stopped' | 'failed';
  deleted: number;
  /** Null while the number is unknown. */
  total: number | null;
  failures: DeleteFailure[];
  error: string | null;
}

/** Targets of a deletion: these objects, and everything under these prefixes. An empty prefix is the whole bucket. */
export interface Doom {
  keys: readonly string[];
  prefixes: readonly string[];
  /** Deletes all versions permanently. Otherwise a versioned bucket gets delete markers. */
  isPermanent: boolean;
}

export const jobs = createStore<{ list: Job[] }>({ list: [] });

/** More failures are counted, but not listed. */
export const FAILURES_LISTED_MAX = 100;

const stops = new Map<string, AbortController>();

function update(id: string, change: (job: Job) => Partial<Job>): void {
  jobs.set(({ list }) => ({ list: list.map((job) => (job.id === id ? { ...job, ...change(job) } : job)) }));
}

export const stopJob = (id: string): void => stops.get(id)?.abort();
export const dismissJob = (id: string): void => jobs.set(({ list }) => ({ list: list.filter((job) => job.id !== id) }));

/** Pages of everything that the job deletes. */
async function* pagesOf(
  key: Key,
  bucket: string,
  { keys, prefixes, isPermanent }: Doom,
  signal: AbortSignal,
): AsyncGenerator<Doomed[]> {
  const list = isPermanent ? listAllVersions : listKeys;
  const readAll = async function* (prefix: string, isWanted: (one: Doomed) => boolean) {
    let token: string | null = null;
    do {
      const page: DoomedPage = await list(key, bucket, prefix, token, signal);
      yield page.doomed.filter(isWanted);
      token = page.next;
    } while (token !== null);
  };
  if (isPermanent) for (const name of keys) yield* readAll(name, (one) => one.key === name);
  else {
    for (let start = 0; start < keys.length; start += KEYS_PER_REQUEST)
      yield keys.slice(start, start + KEYS_PER_REQUEST).map((name) => ({ key: name }));
  }
  for (const prefix of prefixes) yield* readAll(prefix, () => true);
}

/** Starts a deletion. Resolves when it ends, with the job. */
export async function startDeletion(key: Key, bucket: string, title: string, doom: Doom): Promise<Job | null> {
  const id = crypto.randomUUID();
  const stop = new AbortController();
  stops.set(id, stop);
  const total = doom.prefixes.length === 0 && !doom.isPermanent ? doom.keys.length : null;
  jobs.set(({ list }) => ({
    list: [...list, { id, title, state: 'running', deleted: 0, total, failures: [], error: null }],
  }));
  try {
    for await (const page of pagesOf(key, bucket, doom, stop.signal)) {
      if (page.length === 0) continue;
      const failures = await deleteObjects(key, bucket, page, stop.signal);
      update(id, (job) => ({
        deleted: job.deleted + page.length - failures.length,
        failures: [...job.failures, ...failures],
      }));
    }
    update(id, ({ failures }) => ({ state: failures.length > 0 ? 'failed' : 'done' }));
  } catch (error) {
    const isStopped = stop.signal.aborted;
    update(id, () => ({ state: isStopped ? 'stopped' : 'failed', error: isStopped ? null : describeError(error) }));
  }
  stops.delete(id);
  notifyChange();
  return jobs.get().list.find((job) => job.id === id) ?? null;
}
