/**
 * Calls to objects that may not answer. An isolate remembers which object was late, so that only the first callers wait long for it.
 * While an object counts as silent, reads that can do without it wait `SHORT_MS`, and one of them every `PROBE_MS` waits `READ_MS`.
 */

import { LateError, within } from './objects.ts';

/** Time that a read waits for an object. One that was evicted loads its index first, which takes up to a second. */
export const READ_MS = 3_000;
/** Neighbours ask twice, one after the other, and may wait half a second in all. */
const SHORT_MS = 200;
const PROBE_MS = 2_000;
/**
 * Time that a post waits for a shard. An answer that is given up may still be committed, and the first post to a new board creates all
 * its objects, so posts wait longer than reads.
 */
const POST_MS = 15_000;
const SHORT_POST_MS = 2_000;
const NAMES_MAX = 1_000;

/** When the next caller may wait long again, by name of the object, in milliseconds since 1970. */
const silent = new Map<string, number>();

/** Decides how long a caller waits. The one that waits long for a silent object puts off the next such caller. */
function chooseWait(name: string): number {
  const nextProbeAt = silent.get(name);
  if (nextProbeAt === undefined) return READ_MS;
  if (Date.now() < nextProbeAt) return SHORT_MS;
  silent.set(name, Date.now() + PROBE_MS);
  return READ_MS;
}

function remember(name: string): void {
  // Objects that were forgotten cost one long wait each.
  if (silent.size >= NAMES_MAX) silent.clear();
  silent.set(name, Date.now() + PROBE_MS);
}

/**
 * Calls an object and waits for its answer.
 * @param name of the object, as in health
 * @throws UnavailableError if the call fails. @throws LateError if it takes too long.
 */
export async function ask<T>(name: string, call: () => PromiseLike<T>): Promise<T> {
  const waitMs = chooseWait(name);
  return await waitFor(name, call, waitMs, waitMs === READ_MS);
}

/**
 * Posts to a shard. While it counts as silent, a post waits `SHORT_POST_MS`.
 * @throws UnavailableError if the call fails. @throws LateError if it takes too long; it may have an effect nevertheless.
 */
export function post<T>(name: string, call: () => PromiseLike<T>): Promise<T> {
  const isSilent = silent.has(name);
  return waitFor(name, call, isSilent ? SHORT_POST_MS : POST_MS, !isSilent);
}

/**
 * Sends an object something that it can do without. Waits a short time, and does nothing while the object counts as silent.
 * @throws UnavailableError if the call fails. @throws LateError if it takes too long.
 */
export async function notify(name: string, call: () => PromiseLike<void>): Promise<void> {
  if (!silent.has(name)) await waitFor(name, call, SHORT_MS, true);
}

/** @param isPatient whether an object that is late counts as silent from then on */
async function waitFor<T>(name: string, call: () => PromiseLike<T>, ms: number, isPatient: boolean): Promise<T> {
  try {
    const answer = await within(name, ms, call());
    silent.delete(name);
    return answer;
  } catch (error) {
    if (error instanceof LateError && isPatient) remember(name);
    throw error;
  }
}
