/**
 * Checks whether the mail bytes in the locations belong to this Worker's mailbox objects.
 *
 * The namespace of the mailbox objects has a random id, its owner id. One object of the namespace stores the id, and so does each
 * location, as `owners/mail`. If the ids differ, or an id is missing although there are bytes, another namespace wrote the bytes:
 * the Worker was renamed, is a copy, or lost its objects. The collector then stops. Each run of the collector increments a counter,
 * first in the object. If a location has a higher counter than the object, the objects are an older copy.
 */
import type { NamespaceOwner } from '../../../durable-objects/mail/contract/mailbox.ts';

import { answersInTime } from '../../shared/stores/health-findings.ts';
import { listLocations } from './blobs.ts';
import { openMailbox } from './mailbox.ts';

export const OWNER_KEY = 'owners/mail';
const MAIL_PREFIX = 'mail/';
/** Name of the object that stores the owner id. No user has it, because user ids are UUIDs. */
const OWNER_OBJECT = 'owner of the namespace';

/** Timeout of the health check's call, less than the 3 seconds that the health check waits for its stores. */
const PROBE_MS = 2_000;

/** Opens the object that keeps facts about all mailboxes. */
export const openOwner = (env: Env) => openMailbox(env, OWNER_OBJECT);

async function readStoredOwner(bucket: R2Bucket): Promise<NamespaceOwner | null> {
  const object = await bucket.get(OWNER_KEY);
  return object === null ? null : ((await object.json()) as NamespaceOwner);
}

const holdsMail = async (bucket: R2Bucket): Promise<boolean> =>
  (await bucket.list({ prefix: MAIL_PREFIX, limit: 1 })).objects.length > 0;

const write = (bucket: R2Bucket, owner: NamespaceOwner, options: R2PutOptions = {}) =>
  bucket.put(OWNER_KEY, JSON.stringify(owner), options);

/** Tests for the health check whether mailbox objects answer. Calls the object that stores the owner id. */
export async function findSilentMailboxes(env: Env): Promise<string[]> {
  return (await answersInTime(() => openOwner(env).readOwner(), PROBE_MS)) ? [] : ['MAILBOX'];
}

/**
 * Gives the namespace its owner id before the first mailbox is created. If there are bytes without an id, or with the id of another
 * namespace, it changes nothing, and the collector stops. Idempotent. Once the id is stored, it costs one call of an object.
 */
export async function claimNamespace(env: Env): Promise<void> {
  const known = await openOwner(env).readOwner();
  if (known !== null && known.runs > 0) return;
  const owner = known ?? { id: crypto.randomUUID(), runs: 0 };
  for (const bucket of listLocations(env)) {
    const stored = await readStoredOwner(bucket);
    if (stored !== null ? stored.id !== owner.id : await holdsMail(bucket)) return;
  }
  if (known === null) await openOwner(env).writeOwner(owner);
  // If two new Workers share a bucket, only the first one writes its id.
  await Promise.all(listLocations(env).map((bucket) => write(bucket, owner, { onlyIf: { etagDoesNotMatch: '*' } })));
  await openOwner(env).writeOwner({ id: owner.id, runs: 1 });
}

/** Makes this namespace the owner of all mail bytes, at an operator's request. */
export async function takeOverNamespace(env: Env): Promise<void> {
  const owner = { id: crypto.randomUUID(), runs: 0 };
  await openOwner(env).writeOwner(owner);
  await Promise.all(listLocations(env).map((bucket) => write(bucket, owner)));
}

/** @returns the reason why the mail bytes may not be collected; null if they may. Increments the run counter. */
export async function findNamespaceDoubt(env: Env): Promise<string | null> {
  const owner = await openOwner(env).readOwner();
  const locations = await Promise.all(
    listLocations(env).map(async (bucket) => ({ bucket, stored: await readStoredOwner(bucket) })),
  );
  const isAnyStored = locations.some(({ stored }) => stored !== null);
  for (const { bucket, stored } of locations) {
    if (owner === null && stored === null && !isAnyStored) {
      if (await holdsMail(bucket))
        return 'neither the mailbox objects nor the locations have an owner id, but there is mail';
    } else if (owner === null) return 'the mailbox objects have no owner id: they are new, or they were lost';
    else if (stored === null && (await holdsMail(bucket))) return 'a location with mail has no owner id';
    else if (stored !== null && stored.id !== owner.id)
      return 'the mail in a location belongs to another mailbox namespace';
    else if (stored !== null && stored.runs > owner.runs) return 'the mailbox objects are an older copy than the mail';
  }
  if (owner === null) return null;
  const next = { id: owner.id, runs: owner.runs + 1 };
  await openOwner(env).writeOwner(next);
  await Promise.all(locations.map(({ bucket }) => write(bucket, next)));
  return null;
}
