/** Access key of this tab. It is in session storage, so it disappears with the tab and no other tab has it. */
import { createStore } from '../shared/store.ts';
import type { Key } from './s3.ts';
import { setUploadKey } from './uploads.ts';

const STORAGE_KEY = 'tessera.storage.key';

function read(): Key | null {
  try {
    const kept = sessionStorage.getItem(STORAGE_KEY);
    return kept ? (JSON.parse(kept) as Key) : null;
  } catch {
    return null;
  }
}

export const signedIn = createStore<{ key: Key | null; change: number }>({ key: read(), change: 0 });

/** Makes all lists of objects load again. */
export const notifyChange = (): void => signedIn.set(({ change }) => ({ change: change + 1 }));

setUploadKey(signedIn.get().key, notifyChange);

export function setKey(key: Key | null): void {
  try {
    if (key) sessionStorage.setItem(STORAGE_KEY, JSON.stringify(key));
    else sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // Session storage is unavailable, so the key lasts until the user leaves the page.
  }
  signedIn.set({ key });
  setUploadKey(key, notifyChange);
}
