/** Announces that stored objects have changed, at most once per second: lists and details load again. */
import { createStore } from '../shared/store.ts';
import type { Change } from './listing-pages.ts';

const PAUSE_MS = 1_000;

/** `latest`: the changes of the last announcement. `count`: number of announcements. */
export const changes = createStore<{ count: number; latest: readonly Change[] }>({ count: 0, latest: [] });

let waiting: Change[] = [];
let isPaused = false;

function publish(): void {
  if (waiting.length === 0) {
    isPaused = false;
    return;
  }
  isPaused = true;
  const latest = waiting;
  waiting = [];
  setTimeout(publish, PAUSE_MS);
  changes.set(({ count }) => ({ count: count + 1, latest }));
}

/** @param names of the objects, or prefixes. Without them, anything in the bucket may have changed. */
export function notifyChange(bucket: string, names?: readonly string[]): void {
  waiting.push(names === undefined ? { bucket } : { bucket, names });
  if (!isPaused) publish();
}
