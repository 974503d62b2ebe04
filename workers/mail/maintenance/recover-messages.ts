/**
 * Restores the messages of a lost mailbox from their raw bytes in R2, with the folders, flags, labels and ids of its last snapshot.
 * A message that no snapshot has is put into the Inbox (if it was sent, into Sent), marked as read and labelled. Bcc is lost.
 */
import type { FolderState, FormerUids, MessageSnapshot } from '../../../durable-objects/mail/contract/recovery.ts';

import { listLocations, userPrefix } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { openStored } from '../checks/opened-message.ts';
import { toFlagPatch } from '../domain/message-flags.ts';
import type { RawDelivery } from '../inbound/process/delivery.ts';
import { deliverRaw } from '../inbound/process/delivery.ts';
import { parseMessage } from '../mime/parse.ts';

export const RECOVERED_LABEL = 'recovered';

/**
 * Keys of raw messages under a user's prefix: accepted, sent, imported. Keys under `out/` do not match: they are further copies of
 * messages that are being sent. Nor does `in/<id>.part-0`, which is a file of a rebuilt message.
 */
const RAW_KEY = /^(in\/[0-9a-f-]{36}|sent\/[^/]+\/raw|[0-9a-f]{40}\/raw)$/;

interface FoundRaw {
  readonly key: string;
  readonly storedAt: number;
  readonly former: MessageSnapshot | null;
}

/**
 * Restores each raw message that is older than the mailbox and that none of its rows names. A younger one was refused or is being
 * delivered. If interrupted, run it again.
 * @returns the number of restored messages.
 */
export async function recoverMessages(env: Env, userId: string): Promise<number> {
  const mailbox = openMailbox(env, userId);
  const about = await mailbox.listUnheld([]);
  if (!about.ok) return 0;
  const { folders, messages } = await readSnapshots(env, userId, about.value.createdAt);
  const found = new Map<string, FoundRaw>();
  for await (const { key, uploaded } of listObjects(env, userPrefix(userId), RAW_KEY))
    if (uploaded.getTime() <= about.value.createdAt)
      found.set(key, { key, storedAt: uploaded.getTime(), former: messages.get(key) ?? null });
  const uids = toFormerUids([...found.values()], folders);
  return (await recoverAll(env, userId, { found, folders, uids, deliveries: {} }, () => true)).recovered;
}

/** Decides whether the snapshot has all UIDs. A message that arrived after it had UIDs that nobody knows. */
function toFormerUids(found: readonly FoundRaw[], folders: readonly FolderState[]): FormerUids {
  const uids = found.flatMap(({ former }) => former?.uids ?? [null]);
  const last = uids.reduce<number>((most, uid) => Math.max(most, uid ?? 0), 0);
  return { validity: folders[0]?.uidValidity ?? null, last, isComplete: uids.every((uid) => uid !== null) };
}

interface Recovered {
  readonly recovered: number;
  readonly isDone: boolean;
}

/**
 * Restores the messages that the last snapshot of a mailbox has and the mailbox lacks, because it was put back to an earlier state.
 * Raw bytes without a state are of mail that was refused or erased.
 * @param deliveries delivery keys by the key of the raw bytes.
 */
export async function recoverSince(
  env: Env,
  userId: string,
  deliveries: Readonly<Record<string, string>>,
  mayContinue: () => boolean,
): Promise<Recovered> {
  const { folders, messages } = await readSnapshots(env, userId, Number.POSITIVE_INFINITY);
  const found = new Map<string, FoundRaw>();
  for await (const { key, uploaded } of listObjects(env, userPrefix(userId), RAW_KEY)) {
    const former = messages.get(key);
    if (former) found.set(key, { key, storedAt: uploaded.getTime(), former });
  }
  return recoverAll(env, userId, { found, folders, uids: null, deliveries }, mayContinue);
}

interface Sources {
  readonly found: ReadonlyMap<string, FoundRaw>;
  readonly folders: FolderState[];
  /** Null if UIDs are not kept. */
  readonly uids: FormerUids | null;
  readonly deliveries: Readonly<Record<string, string>>;
}

/** Restores the messages of `found` that no row of the mailbox names. @param mayContinue is called between messages. */
async function recoverAll(
  env: Env,
  userId: string,
  { found, folders, uids, deliveries }: Sources,
  mayContinue: () => boolean,
): Promise<Recovered> {
  const mailbox = openMailbox(env, userId);
  const answer = await mailbox.listUnheld([...found.keys()]);
  if (!answer.ok || answer.value.keys.length === 0) return { recovered: 0, isDone: true };
  await mailbox.restoreFolders(folders, uids);
  // Restores the oldest messages first, so that each thread begins with its first message.
  const arrivedAt = ({ former, storedAt }: FoundRaw) => former?.receivedAt ?? storedAt;
  const lost = answer.value.keys.flatMap((key) => found.get(key) ?? []).sort((a, b) => arrivedAt(a) - arrivedAt(b));
  const known = new Set(folders.map(({ id }) => id));
  let recovered = 0;
  for (const raw of lost) {
    const deliveryKey = deliveries[raw.key] ?? `recovered:${raw.key}`;
    if (await recover(env, userId, raw, { known, deliveryKey, keepsUids: uids?.isComplete ?? false })) recovered++;
    if (!mayContinue()) return { recovered, isDone: false };
  }
  return { recovered, isDone: true };
}

/** Lists the objects of all locations, because a location that was lost and refilled may lack keys. */
async function* listObjects(
  env: Env,
  prefix: string,
  pattern: RegExp,
): AsyncGenerator<Pick<R2Object, 'key' | 'uploaded'> & { readonly bucket: R2Bucket }> {
  for (const bucket of listLocations(env)) {
    for (let startAfter: string | undefined = prefix; startAfter !== undefined; ) {
      const page: R2Objects = await bucket.list({ prefix, startAfter });
      for (const { key, uploaded } of page.objects)
        if (pattern.test(key.slice(prefix.length))) yield { key, uploaded, bucket };
      startAfter = page.truncated ? page.objects.at(-1)?.key : undefined;
    }
  }
}

/**
 * @returns the last snapshots of this user's lost mailboxes, those of the newest mailbox first. Snapshots of the current mailbox
 * are omitted.
 */
async function readSnapshots(env: Env, userId: string, createdAt: number) {
  const prefix = `${userPrefix(userId)}snapshot/`;
  // Uses the newest version of the page. A location that was down when the page was written has an older one.
  const newest = new Map<string, { readonly uploaded: Date; readonly bucket: R2Bucket }>();
  for await (const { key, uploaded, bucket } of listObjects(env, prefix, /^\d+-(?:\d+|folders)$/))
    if (uploaded > (newest.get(key)?.uploaded ?? 0)) newest.set(key, { uploaded, bucket });
  const madeAt = (key: string) => Number.parseInt(key.slice(prefix.length), 10);
  const former = [...newest.keys()].filter((key) => madeAt(key) < createdAt).sort((a, b) => madeAt(b) - madeAt(a));
  const messages = new Map<string, MessageSnapshot>();
  let folders: FolderState[] | null = null;
  for (const key of former) {
    const content: unknown = await (await newest.get(key)?.bucket.get(key))?.json();
    if (key.endsWith('folders')) folders ??= content as FolderState[];
    else
      for (const message of (content ?? []) as MessageSnapshot[])
        if (!messages.has(message.rawKey)) messages.set(message.rawKey, message);
  }
  return { folders: folders ?? [], messages };
}

interface Recovering {
  /** Ids of the folders of the snapshot. */
  readonly known: ReadonlySet<string>;
  readonly deliveryKey: string;
  readonly keepsUids: boolean;
}

async function recover(
  env: Env,
  userId: string,
  { key, storedAt, former }: FoundRaw,
  { known, deliveryKey, keepsUids }: Recovering,
): Promise<boolean> {
  const message = await openStored(env, key);
  if (!message) return false;
  const parsedRaw = await parseMessage(message.bytes, message);
  const origin = toOrigin(key.slice(userPrefix(userId).length));
  const [folder = origin === 'sent' ? 'sent' : 'inbox', ...alsoIn] =
    former?.folders.filter((id) => known.has(id)) ?? [];
  const outcome = await deliverRaw(env, {
    userId,
    deliveryKey,
    message,
    rawKey: key,
    parsedRaw,
    receivedAt:
      former?.receivedAt ?? (origin === 'imported' ? Math.min(parsedRaw.sentAt ?? storedAt, storedAt) : storedAt),
    origin,
    folder,
    alsoIn,
    isRead: former?.isRead ?? true,
    isFlagged: former?.isFlagged ?? false,
    labels: former?.labels ?? [RECOVERED_LABEL],
    ...(former ? { messageId: former.id } : {}),
    ...(former && keepsUids ? { uids: toUids(former) } : {}),
    envelopeFrom: '',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: false,
  });
  if (!outcome.ok || outcome.value.duplicate) return false;
  if (former) {
    const { messageId } = outcome.value;
    const snooze = former.snoozedUntil === null ? {} : { snoozedUntil: former.snoozedUntil };
    await openMailbox(env, userId).patchMessages([messageId], { ...toFlagPatch(former), ...snooze });
  }
  return true;
}

const toUids = ({ folders, uids = [] }: MessageSnapshot): Record<string, number> =>
  Object.fromEntries(folders.flatMap((id, at) => (uids[at] == null ? [] : [[id, uids[at]]])));

function toOrigin(name: string): RawDelivery['origin'] {
  if (name.startsWith('in/')) return 'received';
  return name.startsWith('sent/') ? 'sent' : 'imported';
}
