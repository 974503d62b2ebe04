/**
 * IndexedDB of the mail page: answers for reading offline, and changes and messages that wait for the network. Entries
 * belong to a user, so that the next user of this browser neither sees nor sends them. If IndexedDB is unavailable
 * (some private windows), entries last as long as the tab.
 */

/** `answers`: JSON of read requests. `changes`: changes of messages. `outbox`: messages being sent. */
export type StoreName = 'answers' | 'changes' | 'outbox';

export interface Entry<T = unknown> {
  /** Id of the entry. Entries are listed in the order of their ids. */
  id: string;
  userId: string;
  value: T;
}

const DATABASE = 'tessera.mail';
const VERSION = 1;
const STORES: StoreName[] = ['answers', 'changes', 'outbox'];

let opening: Promise<IDBDatabase | null> | null = null;
const fallback = new Map<string, Entry>();

function open(): Promise<IDBDatabase | null> {
  opening ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open(DATABASE, VERSION);
      request.onupgradeneeded = () => {
        for (const store of STORES) request.result.createObjectStore(store, { keyPath: ['userId', 'id'] });
      };
      request.onsuccess = () => {
        // A newer version of this page in another tab may upgrade the database. Let it, and open again later.
        request.result.onversionchange = () => {
          request.result.close();
          opening = null;
        };
        resolve(request.result);
      };
      request.onerror = () => resolve(null);
      request.onblocked = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
  return opening;
}

/** Runs one transaction. @returns null if the database is unavailable or the transaction fails. */
async function transact<T>(
  store: StoreName,
  mode: IDBTransactionMode,
  run: (objects: IDBObjectStore) => IDBRequest<T>,
): Promise<{ value: T } | null> {
  const database = await open();
  if (!database) return null;
  return await new Promise((resolve) => {
    try {
      const transaction = database.transaction(store, mode);
      const request = run(transaction.objectStore(store));
      transaction.oncomplete = () => resolve({ value: request.result });
      transaction.onabort = () => resolve(null);
    } catch {
      resolve(null);
    }
  });
}

const ofUser = (userId: string): IDBKeyRange => IDBKeyRange.bound([userId], [userId, []]);
const fallbackKey = (store: StoreName, userId: string, id: string): string => [store, userId, id].join('\n');

/** Stores an entry. @returns whether it survives the end of this tab. */
export async function putEntry(store: StoreName, entry: Entry): Promise<boolean> {
  if (await transact(store, 'readwrite', (objects) => objects.put(entry))) return true;
  fallback.set(fallbackKey(store, entry.userId, entry.id), entry);
  return false;
}

export async function getEntry<T>(store: StoreName, userId: string, id: string): Promise<Entry<T> | null> {
  const found = await transact(store, 'readonly', (objects) => objects.get([userId, id]));
  return ((found?.value ?? fallback.get(fallbackKey(store, userId, id))) as Entry<T> | undefined) ?? null;
}

/** Lists a user's entries of a store. @returns them by ascending id. */
export async function listEntries<T>(store: StoreName, userId: string): Promise<Entry<T>[]> {
  const found = await transact(store, 'readonly', (objects) => objects.getAll(ofUser(userId)));
  const prefix = fallbackKey(store, userId, '');
  const here = [...fallback].flatMap(([key, entry]) => (key.startsWith(prefix) ? entry : []));
  const all = [...((found?.value ?? []) as Entry<T>[]), ...(here as Entry<T>[])];
  return all.sort((a, b) => (a.id < b.id ? -1 : 1));
}

export async function deleteEntry(store: StoreName, userId: string, id: string): Promise<void> {
  fallback.delete(fallbackKey(store, userId, id));
  await transact(store, 'readwrite', (objects) => objects.delete([userId, id]));
}

/** Deletes all entries of a store, of every user. */
export async function clearStore(store: StoreName): Promise<void> {
  for (const key of fallback.keys()) if (key.startsWith(`${store}\n`)) fallback.delete(key);
  await transact(store, 'readwrite', (objects) => objects.clear());
}

let lastAt = 0;
/** A new id. Ids sort by the time of their creation, across tabs of this browser. */
export function mintId(): string {
  lastAt = Math.max(Date.now(), lastAt + 1);
  return `${String(lastAt).padStart(15, '0')}.${crypto.randomUUID()}`;
}
