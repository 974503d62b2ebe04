/**
 * Access key of this tab. It is in session storage and never on disk. A new tab gets it from another open tab, so that links open
 * directly. The key is gone when the last tab is closed.
 */
import { createStore } from '../shared/store.ts';
import { notifyChange } from './changes.ts';
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

/** State of the sign-in. `isAsking`: other tabs may still answer with their key. */
export const signedIn = createStore<{ key: Key | null; isAsking: boolean }>({
  key: read(),
  isAsking: read() === null,
});

/** Messages between tabs of this page. Stored objects cannot read them: their documents have an origin of their own. */
type TabMessage = { kind: 'ask' } | { kind: 'key'; key: Key } | { kind: 'out' };
const tabs = new BroadcastChannel(STORAGE_KEY);
/** Time in milliseconds in which open tabs answer. After it, no other tab is assumed to be open. */
const ANSWER_MS = 250;

tabs.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
  const { key } = signedIn.get();
  if (data.kind === 'ask' && key) tabs.postMessage({ kind: 'key', key } satisfies TabMessage);
  if (data.kind === 'key' && !key) keepKey(data.key);
  if (data.kind === 'out') keepKey(null);
});
if (signedIn.get().isAsking) {
  tabs.postMessage({ kind: 'ask' } satisfies TabMessage);
  setTimeout(() => signedIn.set({ isAsking: false }), ANSWER_MS);
}

setUploadKey(signedIn.get().key, notifyChange);

/** Signs this tab in, or all tabs out if the key is null. */
export function setKey(key: Key | null): void {
  keepKey(key);
  if (key === null) tabs.postMessage({ kind: 'out' } satisfies TabMessage);
}

function keepKey(key: Key | null): void {
  try {
    if (key) sessionStorage.setItem(STORAGE_KEY, JSON.stringify(key));
    else sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // Session storage is unavailable, so the key lasts until the user leaves the page.
  }
  signedIn.set({ key, isAsking: false });
  setUploadKey(key, notifyChange);
}
