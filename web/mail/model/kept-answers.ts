/** Keeps answers of read requests on this device, so that mail read before can be read again offline. */
import { isUnreachable } from '../../shared/api.ts';
import { clearStore, deleteEntry, getEntry, listEntries, putEntry } from './device-store.ts';

/** Limit of stored answers. The oldest are deleted. */
const ANSWERS_MAX = 600;
/** Number of writes between two checks of the number of stored answers. */
const WRITES_PER_CHECK = 100;

interface Kept {
  at: number;
  value: unknown;
}

/** Owner of the stored profile. The profile is read before the user is known. */
const NOBODY = '';
let owner = NOBODY;
let writes = 0;

/** Sets the user whose answers are kept from now on. */
export function setAnswerOwner(userId: string): void {
  owner = userId;
}

/** Deletes all answers at sign-out. */
export async function forgetAnswers(): Promise<void> {
  owner = NOBODY;
  await clearStore('answers');
}

async function keep(userId: string, name: string, value: unknown): Promise<void> {
  await putEntry('answers', { id: name, userId, value: { at: Date.now(), value } satisfies Kept });
  writes += 1;
  if (writes % WRITES_PER_CHECK !== 0) return;
  const all = await listEntries<Kept>('answers', userId);
  const oldest = all.toSorted((a, b) => a.value.at - b.value.at).slice(0, Math.max(0, all.length - ANSWERS_MAX));
  for (const entry of oldest) await deleteEntry('answers', userId, entry.id);
}

/**
 * Loads an answer and keeps it. If the server cannot be reached, returns the kept answer.
 * @throws the error of `load` if nothing is kept, or if the server has answered.
 */
export async function loadKept<T>(name: string, load: () => Promise<T>, isOfNobody = false): Promise<T> {
  const userId = isOfNobody ? NOBODY : owner;
  try {
    const value = await load();
    if (userId === (isOfNobody ? NOBODY : owner)) void keep(userId, name, value);
    return value;
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const kept = await getEntry<Kept>('answers', userId, name);
    if (!kept) throw error;
    return kept.value.value as T;
  }
}
