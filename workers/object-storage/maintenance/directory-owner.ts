/**
 * Whether DIRECTORY is the one that the snapshots of DIRECTORY in the locations are of, and not an older copy: otherwise
 * its snapshots would replace the right ones. A random id and the folder of the newest snapshot are kept in DIRECTORY
 * (`collector`, row `directory`) and as `owners/directory` in each location.
 */
import { createCollectorStore } from '../../collectors/store.ts';
import { listMetadata } from '../engine/blobs/metadata-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';

export const DIRECTORY_SNAPSHOTS = 'snapshots/directory/';
const OWNER_KEY = 'owners/directory';

interface DirectoryOwner {
  readonly id: string;
  /** Of the newest snapshot; '' before the first. */
  readonly folder: string;
}

const openStore = (context: EngineContext) => createCollectorStore(context.directory, 'directory');

async function readBeside(bucket: R2Bucket): Promise<DirectoryOwner | null> {
  const object = await bucket.get(OWNER_KEY);
  return object === null ? null : ((await object.json()) as DirectoryOwner);
}

async function write(context: EngineContext, owner: DirectoryOwner): Promise<void> {
  await openStore(context).setOwner(owner.id, owner.folder);
  await Promise.all(context.locations.map((bucket) => bucket.put(OWNER_KEY, JSON.stringify(owner))));
}

/** Makes DIRECTORY the owner of the snapshots: after a rebuild, or because an operator said so. */
export const takeOverSnapshots = (context: EngineContext): Promise<void> =>
  write(context, { id: crypto.randomUUID(), folder: '' });

async function findDoubt(context: EngineContext, id: string | null, newest: string): Promise<string | null> {
  const owners = await Promise.all(context.locations.map(readBeside));
  if (id === null) {
    if (owners.some((owner) => owner !== null)) return 'DIRECTORY has no owner id: it is new, or it was lost';
    const folders = await listMetadata(context, DIRECTORY_SNAPSHOTS, '/');
    return folders.length > 0 ? 'there are snapshots of DIRECTORY, and nothing says whose they are' : null;
  }
  for (const owner of owners) {
    // A location that was added later gets the id with the next snapshot.
    if (owner === null) continue;
    if (owner.id !== id) return 'the snapshots in a location are of another DIRECTORY';
    if (owner.folder > newest) return 'DIRECTORY is an older copy than its newest snapshot';
  }
  return null;
}

/** Records a snapshot that is about to be written. @returns why it must not be written, or null. Raises the alarm. */
export async function beginSnapshot(context: EngineContext, folder: string): Promise<string | null> {
  const store = openStore(context);
  let row = await store.read();
  if (row.takeOver === 1) {
    await takeOverSnapshots(context);
    await store.endTakeOver();
    row = await store.read();
  }
  const doubt = await findDoubt(context, row.owner, row.cursor);
  if (doubt !== null) {
    await store.raiseAlarm(doubt, { scanned: 0, found: 0 }, context.now());
    return doubt;
  }
  await write(context, { id: row.owner ?? crypto.randomUUID(), folder });
  if (row.alarm !== null) await store.clearAlarm();
  return null;
}
