/**
 * Checks that DIRECTORY, or another user database, is the database that the snapshots in the locations came from, and not an
 * older copy. Otherwise its new snapshots would replace the right ones. The database (`collector`, row `directory`) and each
 * location (`owners/directory`, for `DIRECTORY_3` `owners/directory-3`) hold a random id and the folder of the newest snapshot.
 */
import { directoryKeyOf, isLost, ownerKeyOf, REBUILDING } from '../../shared/collectors/owner-store.ts';
import { createCollectorStore } from '../../shared/collectors/store.ts';
import { readNumber } from '../../shared/stores/age-store.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { listMetadata } from '../engine/blobs/metadata-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { levelDirectoryAge, nameOf, raiseDirectoryAge } from './directory-age.ts';
import { writeDirectoryJournal } from './directory-journal.ts';

/** Prefix of the keys of the snapshots of DIRECTORY, or of another user database. */
export const snapshotsOf = (context: EngineContext): string => `snapshots/${directoryKeyOf(context.directoryNumber)}/`;

interface DirectoryOwner {
  readonly id: string;
  /** Folder of the newest snapshot of DIRECTORY; '' before the first one. */
  readonly folder: string;
}

const openStore = (context: EngineContext) => createCollectorStore(context.directory, 'directory');

async function readOwnerObject(context: EngineContext, bucket: R2Bucket): Promise<DirectoryOwner | null> {
  const object = await bucket.get(ownerKeyOf(context.directoryNumber));
  return object === null ? null : ((await object.json()) as DirectoryOwner);
}

async function write(context: EngineContext, owner: DirectoryOwner): Promise<void> {
  await openStore(context).setOwner(owner.id, owner.folder);
  await Promise.all(
    context.locations.map((bucket) => bucket.put(ownerKeyOf(context.directoryNumber), JSON.stringify(owner))),
  );
}

/** Makes DIRECTORY the owner of the snapshots in the locations, after a rebuild or on an operator's order. */
export const takeOverSnapshots = (context: EngineContext): Promise<void> =>
  write(context, { id: crypto.randomUUID(), folder: '' });

/** Records that a rebuild is filling DIRECTORY. `takeOverSnapshots` ends it. */
export const beginRebuild = (context: EngineContext): Promise<void> => openStore(context).setOwner(REBUILDING, '');

/** Whether a rebuild of DIRECTORY has begun and not ended. It may then be repeated. */
export const isRebuilding = async (context: EngineContext): Promise<boolean> =>
  (await openStore(context).read()).owner === REBUILDING;

/** Whether DIRECTORY is new although a location has an owner id, or is being rebuilt. */
export const isDirectoryLost = async (context: EngineContext): Promise<boolean> =>
  isLost(await openStore(context).findOwner(), context.directoryNumber, context.locations);

async function findDoubt(context: EngineContext, id: string | null, newest: string): Promise<string | null> {
  const owners = await Promise.all(context.locations.map((bucket) => readOwnerObject(context, bucket)));
  if (id === null) {
    if (owners.some((owner) => owner !== null)) return 'DIRECTORY has no owner id: it is new, or it was lost';
    const folders = await listMetadata(context, snapshotsOf(context), '/');
    return folders.length > 0 ? 'the locations have snapshots of DIRECTORY, but no owner id' : null;
  }
  for (const owner of owners) {
    // A location without an owner id was added later. It receives the id with the next snapshot.
    if (owner === null) continue;
    if (owner.id !== id) return 'the snapshots in a location are of another DIRECTORY';
    if (owner.folder > newest) return 'DIRECTORY is an older copy than its newest snapshot';
  }
  return null;
}

/** Makes the database the owner if an operator has confirmed that it is the right one. What it lacks is lost then. */
async function takeOverIfAsked(context: EngineContext, takeOver: number): Promise<boolean> {
  if (takeOver !== 1) return false;
  await takeOverSnapshots(context);
  await levelDirectoryAge(context);
  await openStore(context).endTakeOver();
  return true;
}

/** Raises the number of the database each minute, and writes its journal. A database that was put back raises the alarm of its collector. */
export async function keepDirectoryAge(context: EngineContext): Promise<void> {
  const number = await raiseDirectoryAge(context);
  if (number !== null) return void (await writeDirectoryJournal(context, number));
  // An empty database is lost or new, which the snapshot's alarm says.
  if ((await readNumber(context.directory, 'directory')) === null) return;
  const store = openStore(context);
  if (await takeOverIfAsked(context, (await store.read()).takeOver)) return;
  const doubt = `${nameOf(context)} is an older copy than its number in the locations`;
  logError('store_older', doubt, { database: nameOf(context) });
  await store.raiseAlarm(doubt, { scanned: 0, found: 0 }, context.now());
}

/**
 * Records a snapshot of DIRECTORY before it is written.
 * @returns the reason if it must not be written, after raising the alarm; null otherwise.
 */
export async function beginSnapshot(context: EngineContext, folder: string): Promise<string | null> {
  const store = openStore(context);
  let row = await store.read();
  if (await takeOverIfAsked(context, row.takeOver)) row = await store.read();
  const doubt = await findDoubt(context, row.owner, row.cursor);
  if (doubt !== null) {
    await store.raiseAlarm(doubt, { scanned: 0, found: 0 }, context.now());
    return doubt;
  }
  await write(context, { id: row.owner ?? crypto.randomUUID(), folder });
  if (row.alarm !== null) await store.clearAlarm();
  return null;
}
