/**
 * The first reads of a returning user: folders and inbox start together with the profile. Otherwise each waits for the answer
 * to the one before.
 */
import { callJson } from '../../shared/api.ts';
import { readRoute } from '../../shared/hash-route.ts';
import { isSignedInHere } from '../../shared/signed-in.ts';

export const FOLDERS_PATH = '/v1/folders';
export const FIRST_PAGE_MESSAGES = 100;
export const toListPath = (folder: string, limit: number): string =>
  `${FOLDERS_PATH}/${encodeURIComponent(folder)}/messages?limit=${limit}`;

const started = new Map<string, Promise<unknown>>();

/** Does nothing if no user was signed in at the last visit. */
export function startFirstReads(): void {
  if (!isSignedInHere()) return;
  const isInbox = [undefined, 'inbox'].includes(readRoute().parts[0]);
  for (const path of [FOLDERS_PATH, ...(isInbox ? [toListPath('inbox', FIRST_PAGE_MESSAGES)] : [])]) {
    const read = callJson(path);
    // `readFirst` reads again after an error.
    read.catch(() => undefined);
    started.set(path, read);
  }
}

/** Moves the answer of the inbox to the path with its id, which the list reads. */
export function nameInbox(folderId: string): void {
  const path = toListPath('inbox', FIRST_PAGE_MESSAGES);
  const read = started.get(path);
  started.delete(path);
  if (read) started.set(toListPath(folderId, FIRST_PAGE_MESSAGES), read);
}

/** Reads a path. The first time, uses the read that `startFirstReads` started. */
export function readFirst<T>(path: string): Promise<T> {
  const read = started.get(path) as Promise<T> | undefined;
  started.delete(path);
  return read?.catch(() => callJson<T>(path)) ?? callJson<T>(path);
}

/** At sign-out: forgets answers that were not used. */
export const forgetFirstReads = (): void => started.clear();
