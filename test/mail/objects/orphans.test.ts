/**
 * Tests the collection of orphans of mail: bytes in R2 whose row is missing after a crash are removed in rounds. An empty database
 * alone never causes a deletion.
 */
import { env, runInDurableObject } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { claimNamespace, OWNER_KEY } from '../../../workers/mail/bindings/namespace-owner.ts';
import { openBytes } from '../../../workers/mail/checks/opened-message.ts';
import { storeRawBytes } from '../../../workers/mail/inbound/accept/store-raw.ts';
import { deliverRaw } from '../../../workers/mail/inbound/process/delivery.ts';
import { collectOrphans } from '../../../workers/mail/maintenance/orphans.ts';
import { createAccount, deleteAccount } from '../../../workers/mail/store/address-store.ts';
import { createCollectorStore } from '../../../workers/shared/collectors/store.ts';

const DAY_MS = 86_400_000;
const raw = Buffer.from(
  'From: a@far.test\r\nSubject: kept\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhi\r\n--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\nfile\r\n--b--\r\n',
);
const locations = [env.BLOBS, env.BLOBS_2];

const listKeys = async (prefix: string) => {
  const lists = await Promise.all(locations.map((bucket) => bucket.list({ prefix })));
  return lists.map((list) => list.objects.map((object) => object.key).sort());
};
const inDays = (days: number) => collectOrphans(env, Date.now() + days * DAY_MS + 60_000);
const readAlarm = async () => (await createCollectorStore(env.DIRECTORY, 'mail').read()).alarm;

const deliver = (userId: string, key: string) =>
  deliverRaw(env, {
    deliveryKey: key,
    receivedAt: Date.now(),
    origin: 'received',
    folder: 'inbox',
    isRead: false,
    isFlagged: false,
    labels: [],
    envelopeFrom: '',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: true,
    userId,
    message: openBytes(raw),
  });

async function makeUser(): Promise<string> {
  await claimNamespace(env);
  const userId = crypto.randomUUID();
  const account = { userId, email: `${userId}@example.test`, accountType: 'personal', createdAt: Date.now() };
  await createAccount(env, account);
  await openMailbox(env, userId).createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  return userId;
}

/** Empties a mailbox object. This simulates its loss, because a lost object looks like a new one. */
const loseObject = async (name: string) => {
  const stub = env.MAILBOX.get(env.MAILBOX.idFromName(name));
  await runInDurableObject(stub, async (mailbox, state) => {
    await mailbox.erase();
    await state.storage.delete('owner');
  });
};
const OWNER_OBJECT = 'owner of the namespace';

beforeEach(async () => {
  await loseObject(OWNER_OBJECT);
  for (const bucket of locations) {
    const { objects } = await bucket.list();
    if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  }
  await env.DIRECTORY.batch([
    env.DIRECTORY.prepare('DELETE FROM collector'),
    env.DIRECTORY.prepare('DELETE FROM orphan'),
  ]);
});

it('deletes bytes without a row after two rounds a day apart, and a day later in the second location', async () => {
  const userId = await makeUser();
  const prefix = `mail/${userId}/`;
  expect(await deliver(userId, 'd')).toMatchObject({ ok: true });
  const accepted = `${prefix}in/accepted`;
  await storeRawBytes(env, accepted, raw);
  const row = {
    incomingId: 'i',
    contentKey: 'c',
    rawSha256: 'c',
    rawKey: accepted,
    sizeBytes: raw.length,
    envelopeFrom: 'a@far.test',
    envelopeTo: 'x@example.test',
    deliveredTo: 'x@example.test',
    clientIp: null,
    helo: null,
    origin: 'smtp',
    verdicts: null,
  } as const;
  expect(await openMailbox(env, userId).acceptIncoming(row, true)).toMatchObject({ ok: true });
  const kept = (await listKeys(prefix)).map((keys) => [...keys, `${prefix}errors/e.json`].sort());
  expect(kept[0]).toHaveLength(3);

  // Make the state after a power cut between the write to R2 and the row: bytes without a row.
  for (const name of ['in/orphan', 'sent/none/raw', 'errors/e.json']) await storeRawBytes(env, prefix + name, raw);
  const all = await listKeys(prefix);
  expect(await inDays(0)).toMatchObject({ found: 0 });
  expect(await inDays(1)).toMatchObject({ found: 2, removed: 0, isRoundOver: true });
  expect(await inDays(1.5)).toMatchObject({ found: 2, removed: 0 });
  expect(await listKeys(prefix)).toEqual(all);
  expect(await inDays(2)).toMatchObject({ found: 2, removed: 2, removedElsewhere: 0 });
  expect(await listKeys(prefix)).toEqual([kept[0], all[1]]);
  expect(await inDays(2.5)).toMatchObject({ found: 2, removed: 0, removedElsewhere: 0 });
  expect(await inDays(3)).toMatchObject({ removedElsewhere: 2 });
  expect(await listKeys(prefix)).toEqual(kept);
  expect(await inDays(4)).toMatchObject({ found: 0, removed: 0, removedElsewhere: 0 });
  expect(await readAlarm()).toBeNull();
});

it('deletes bytes that only another location has: a slow write may land after the delete', async () => {
  const userId = await makeUser();
  expect(await deliver(userId, 'd')).toMatchObject({ ok: true });
  const erased = await makeUser();
  await deleteAccount(env, erased, Date.now());
  await loseObject(erased);
  const before = await listKeys('mail/');
  for (const id of [userId, erased]) await env.BLOBS_2.put(`mail/${id}/in/late`, raw);
  expect(await inDays(1)).toMatchObject({ found: 2, isRoundOver: true });
  await inDays(2);
  await inDays(3);
  expect(await listKeys('mail/')).toEqual(before);
  expect(await readAlarm()).toBeNull();
});

it('keeps the mail of a missing mailbox until a tombstone confirms that its account was erased', async () => {
  const userId = await makeUser();
  await deliver(userId, 'd');
  const before = await listKeys(`mail/${userId}/`);
  await loseObject(userId);
  for (const days of [2, 4, 6]) expect(await inDays(days)).toMatchObject({ found: 0, removed: 0 });
  expect(await listKeys(`mail/${userId}/`)).toEqual(before);

  await deleteAccount(env, userId, Date.now());
  await deleteAccount(env, userId, Date.now());
  for (const days of [7, 8, 9]) await inDays(days);
  expect(await listKeys(`mail/${userId}/`)).toEqual([[], []]);
});

it('keeps bytes that are older than a mailbox that was lost and created again', async () => {
  const userId = await makeUser();
  await deliver(userId, 'd');
  const before = await listKeys(`mail/${userId}/`);
  await loseObject(userId);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await openMailbox(env, userId).createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  for (const days of [2, 4, 6]) expect(await inDays(days)).toMatchObject({ found: 0 });
  expect(await listKeys(`mail/${userId}/`)).toEqual(before);
});

it('stops while the bytes belong to another namespace of mailboxes', async () => {
  const userId = await makeUser();
  await deliver(userId, 'd');
  await storeRawBytes(env, `mail/${userId}/in/orphan`, raw);
  await inDays(1);
  const before = await listKeys('mail/');
  const stub = env.MAILBOX.get(env.MAILBOX.idFromName(OWNER_OBJECT));
  const owner = await stub.readOwner();
  if (owner === null) throw new Error('the namespace has no owner');
  const expectStopped = async (reason: RegExp) => {
    expect((await inDays(5)).alarm).toMatch(reason);
    expect(await readAlarm()).toMatch(reason);
    expect(await listKeys('mail/')).toEqual(before);
  };

  await loseObject(OWNER_OBJECT);
  await claimNamespace(env);
  await expectStopped(/no owner id|another mailbox namespace/);
  await stub.writeOwner({ ...owner, runs: 0 });
  await expectStopped(/older copy/);
  await stub.writeOwner(owner);
  const ownerCopy = await (await env.BLOBS_2.get(OWNER_KEY))?.text();
  await env.BLOBS_2.delete(OWNER_KEY);
  await expectStopped(/no owner id/);
  await env.BLOBS_2.put(OWNER_KEY, ownerCopy ?? '');

  // The alarm must stay set until a round ends without raising it.
  expect(await readAlarm()).not.toBeNull();
  expect(await inDays(6)).toMatchObject({ removed: 1 });
  expect(await readAlarm()).toBeNull();
});

it('deletes nothing in a round that would remove too much, until an operator agrees', async () => {
  const userId = await makeUser();
  await deliver(userId, 'd');
  for (let n = 0; n < 21; n++) await env.BLOBS.put(`mail/${userId}/in/orphan-${n}`, raw);
  const before = await listKeys('mail/');
  for (const days of [2, 4, 6]) expect((await inDays(days)).alarm).toMatch(/21 of 22/);
  expect(await listKeys('mail/')).toEqual(before);
  const store = createCollectorStore(env.DIRECTORY, 'mail');
  await store.acknowledge({ remove: false, takeOver: false });
  expect(await inDays(7)).toMatchObject({ removed: 0 });
  await store.acknowledge({ remove: true, takeOver: false });
  expect(await inDays(8)).toMatchObject({ removed: 21, alarm: null });
  // The consent was for that round only.
  for (let n = 0; n < 21; n++) await env.BLOBS.put(`mail/${userId}/in/later-${n}`, raw);
  expect((await inDays(10)).alarm).toMatch(/21 of 22/);
});

it('takes over a namespace when an operator confirms it', async () => {
  const userId = await makeUser();
  await deliver(userId, 'd');
  await loseObject(OWNER_OBJECT);
  expect((await inDays(2)).alarm).not.toBeNull();
  await createCollectorStore(env.DIRECTORY, 'mail').acknowledge({ remove: false, takeOver: true });
  expect(await inDays(3)).toMatchObject({ alarm: null, found: 0 });
});
