/** Work on many objects, with progress, a way to stop, and a list of failures. */
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
import { notifyChange } from './changes.ts';
import type { Change } from './listing-pages.ts';
import { type Key, restoreVersion } from './s3.ts';

export interface Job {
  id: string;
  title: string;
  kind: 'delete' | 'restore';
  state: 'running' | 'done' | 'stopped' | 'failed';
  done: number;
  /** Number of objects of the job; null while it is unknown. */
  total: number | null;
  failures: DeleteFailure[];
  error: string | null;
}

/** Selection of a job that deletes: these objects, and everything under these prefixes. An empty prefix is the whole bucket. */
export interface Doom {
  keys: readonly string[];
  prefixes: readonly string[];
  /** Whether all versions are deleted permanently. Otherwise objects of a versioned bucket get delete markers. */
  isPermanent: boolean;
}

export const jobs = createStore<{ list: Job[] }>({ list: [] });

/** Limit of failures that are listed. More are only counted. */
export const FAILURES_LISTED_MAX = 100;

const stops = new Map<string, AbortController>();

function update(id: string, change: (job: Job) => Partial<Job>): void {
  jobs.set(({ list }) => ({ list: list.map((job) => (job.id === id ? { ...job, ...change(job) } : job)) }));
}

export const stopJob = (id: string): void => stops.get(id)?.abort();
export const dismissJob = (id: string): void => jobs.set(({ list }) => ({ list: list.filter((job) => job.id !== id) }));

/** Yields pages of everything that the job deletes. */
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

/** Adds a job and runs it. Resolves when it ends, with the job, or with null if the user has dismissed it. */
async function run(
  start: Pick<Job, 'title' | 'kind' | 'total'>,
  place: Required<Change>,
  work: (signal: AbortSignal, report: (done: number, failures: readonly DeleteFailure[]) => void) => Promise<void>,
): Promise<Job | null> {
  const id = crypto.randomUUID();
  const stop = new AbortController();
  stops.set(id, stop);
  jobs.set(({ list }) => ({ list: [...list, { ...start, id, state: 'running', done: 0, failures: [], error: null }] }));
  try {
    await work(stop.signal, (done, failures) =>
      update(id, (job) => ({ done: job.done + done, failures: [...job.failures, ...failures] })),
    );
    update(id, ({ failures }) => ({ state: failures.length > 0 ? 'failed' : 'done' }));
  } catch (error) {
    const isStopped = stop.signal.aborted;
    update(id, () => ({ state: isStopped ? 'stopped' : 'failed', error: isStopped ? null : describeError(error) }));
  }
  stops.delete(id);
  notifyChange(place.bucket, place.names);
  return jobs.get().list.find((job) => job.id === id) ?? null;
}

export function startDeletion(key: Key, bucket: string, title: string, doom: Doom): Promise<Job | null> {
  const total = doom.prefixes.length === 0 && !doom.isPermanent ? doom.keys.length : null;
  const place = { bucket, names: [...doom.keys, ...doom.prefixes] };
  return run({ title, kind: 'delete', total }, place, async (signal, report) => {
    for await (const page of pagesOf(key, bucket, doom, signal)) {
      if (page.length === 0) continue;
      const failures = await deleteObjects(key, bucket, page, signal);
      report(page.length - failures.length, failures);
    }
  });
}

/** A plan that restores objects to a past state: copies of old versions, delete markers to remove, and objects to delete. */
export interface Restoration {
  copies: readonly { key: string; versionId: string }[];
  /**
   * Delete markers to remove, and objects to delete because they did not exist. An entry without a version id gets a delete marker.
   */
  deletions: readonly Doomed[];
}

const PARALLEL_COPIES = 4;

export function startRestoration(key: Key, bucket: string, title: string, plan: Restoration): Promise<Job | null> {
  const total = plan.copies.length + plan.deletions.length;
  const place = { bucket, names: [...plan.copies, ...plan.deletions].map(({ key: name }) => name) };
  return run({ title, kind: 'restore', total }, place, async (signal, report) => {
    const copies = [...plan.copies];
    const work = async () => {
      for (let copy = copies.shift(); copy !== undefined; copy = copies.shift()) {
        signal.throwIfAborted();
        const { key: name, versionId } = copy;
        await restoreVersion(key, bucket, name, versionId).then(
          () => report(1, []),
          (error: unknown) => report(0, [{ key: name, versionId, message: describeError(error) }]),
        );
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_COPIES }, work));
    for (let start = 0; start < plan.deletions.length; start += KEYS_PER_REQUEST) {
      const page = plan.deletions.slice(start, start + KEYS_PER_REQUEST);
      const failures = await deleteObjects(key, bucket, page, signal);
      report(page.length - failures.length, failures);
    }
  });
}
