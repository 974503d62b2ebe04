/**
 * Stores an arriving message once per delivery, within the quota, in the folder that the user's rules choose. Runs in the caller's
 * transaction.
 */

import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { StoredMessage, StoreMessageError, StoreMessageInput } from '../contract/delivered-message.ts';
import type { FolderRow } from '../contract/folders.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import { addGarbage, first } from '../database/store.ts';
import { findFolder, findFolderByNumber, isView } from '../messages/folder-store.ts';

import { findMessage, insertMessage, listStoredKeys } from '../messages/message-store.ts';
import { mintMessageId, mintPosition, toPosition } from '../messages/position-store.ts';
import { hush } from '../messages/quiet-store.ts';
import { type Acquaintance, judgeSender } from '../messages/sender-store.ts';
import { formatThreadId, isThreadMuted } from '../messages/thread-store.ts';
import { gatherContacts } from '../rules/contact-store.ts';
import { applyMovesOnArrival, applyRulesOnArrival } from '../rules/filter-store.ts';

/** Fields that tell whether a message was stored before. A delivery is recognised by its key, an imported message by its bytes. */
type Delivery = Pick<StoreMessageInput, 'origin' | 'rawSha256' | 'deliveryKey'>;

/** @returns the message that a delivery created, even if it has been erased since; null for a new delivery. */
export function findDelivery(sql: SqlStorage, { origin, rawSha256, deliveryKey }: Delivery): StoredMessage | null {
  const stored = first<{ message_id: string; thread: number; folder: number }>(
    sql,
    `SELECT message_id, thread, folder FROM message WHERE raw_sha256 = ?1 AND (delivery_key = ?2 OR ?3 = 'imported') LIMIT 1`,
    rawSha256,
    deliveryKey,
    origin,
  );
  const erased =
    stored ??
    first<{ message_id: string }>(sql, 'SELECT message_id FROM erased_delivery WHERE delivery_key = ?', deliveryKey);
  if (!erased) return null;
  const folder = stored ? findFolderByNumber(sql, stored.folder) : findFolder(sql, 'trash');
  return {
    messageId: erased.message_id,
    emailId: erased.message_id,
    threadId: stored ? formatThreadId(stored.thread) : '',
    folderId: folder?.folder_id ?? '',
    folderRole: folder?.role ?? null,
    duplicate: true,
  };
}

/** Checks the quota and decides the folder, then writes all rows of the message. */
export function storeMessage(
  sql: SqlStorage,
  mailbox: MailboxRow,
  input: StoreMessageInput,
  now: number,
  isAccepted = false,
): Result<StoredMessage, StoreMessageError> {
  const known = findDelivery(sql, input);
  if (known) {
    // If the caller used other R2 keys, or the message has been erased, nothing needs the objects that the caller stored.
    const message = findMessage(sql, known.messageId);
    const held = new Set(message ? listStoredKeys(sql, message.position) : []);
    addGarbage(
      sql,
      listKeys(input).filter((key) => key !== null && !held.has(key)),
      now,
    );
    return ok(known);
  }
  const { usedBytes, limitBytes } = mailbox;
  if (input.enforceQuota && usedBytes + input.sizeBytes > limitBytes)
    return err({ kind: 'over_quota', usedBytes, limitBytes });
  const target = findFolder(sql, input.folder);
  if (!target || isView(target)) return err({ kind: 'no_folder' });
  const { position, messageId } = decideId(sql, input);
  const { folder, ...marks } = decideArrival(sql, mailbox, input, { target, messageId }, now);
  const alsoIn = (input.alsoIn ?? []).flatMap((key) => findFolder(sql, key) ?? []).filter((each) => !isView(each));
  const uids = new Map([folder, ...alsoIn].flatMap((each) => toEntry(each.folder, input.uids?.[each.folder_id])));
  const placed = { ...input, ...marks, position, messageId, folder, alsoIn, uids, isAccepted };
  const thread = insertMessage(sql, placed, now);
  const stored = input.origin === 'received' && isThreadMuted(sql, thread) ? findMessage(sql, messageId) : null;
  const place = stored && hush(sql, stored, now) ? (findFolder(sql, 'archive') ?? folder) : folder;
  if (input.origin === 'sent') gatherContacts(sql, [...input.parsed.to, ...input.parsed.cc, ...input.parsed.bcc], now);
  return ok({
    messageId,
    emailId: messageId,
    threadId: formatThreadId(thread),
    folderId: place.folder_id,
    folderRole: place.role,
    duplicate: false,
  });
}

const toEntry = (folder: number, uid: number | undefined): (readonly [number, number])[] =>
  uid === undefined ? [] : [[folder, uid]];

/** Decides position and id of a message: those of its former id if no message has that position, otherwise new ones. */
function decideId(sql: SqlStorage, { messageId, receivedAt }: StoreMessageInput) {
  const former = messageId === undefined ? -1 : toPosition(messageId);
  const isFree = first(sql, 'SELECT 1 AS taken FROM message WHERE position = ?', former) === null;
  if (messageId !== undefined && former >= 0 && isFree) return { position: former, messageId };
  const position = mintPosition(sql, receivedAt);
  return { position, messageId: mintMessageId(position) };
}

/**
 * Decides folder and marks of a message by the user's rules. If the folder of a rule was deleted, the rule does not move the
 * message.
 */
function decideArrival(
  sql: SqlStorage,
  mailbox: MailboxRow,
  input: StoreMessageInput,
  { target, messageId }: { readonly target: FolderRow; readonly messageId: string },
  now: number,
) {
  const { isRead, isFlagged, labels } = input;
  const people = judgePeople(sql, input, target);
  const unmoved = { folder: people.folder, spam: people.spam, isRead, isFlagged, labels };
  if (people.rules === 'none') return unmoved;
  const decision =
    people.rules === 'all' ? applyRulesOnArrival(sql, mailbox, input, messageId, now) : applyMovesOnArrival(sql, input);
  const moved = decision.folder === null ? null : findFolder(sql, decision.folder);
  return {
    folder: moved && !isView(moved) ? moved : people.folder,
    spam: people.spam,
    isRead: isRead || decision.isRead,
    isFlagged: isFlagged || decision.isFlagged,
    labels: [...labels, ...decision.labels],
  };
}

const ACQUAINTANCES: Readonly<Record<Acquaintance, string>> = {
  trusted: 'You trust this sender',
  contact: 'You know this sender',
  answer: 'It answers a message of yours',
};

/**
 * Decides between Inbox and Junk by the user's trusted, known and blocked senders. Also decides which rules run: on mail in Junk
 * only rules that move messages.
 */
function judgePeople(sql: SqlStorage, input: StoreMessageInput, target: FolderRow) {
  const { judgement, spam } = input;
  if (!judgement) return { folder: target, spam, rules: input.applyRules ? 'all' : 'none' } as const;
  const ruling = judgeSender(sql, input.parsed, judgement.sender);
  if (ruling?.kind === 'blocked')
    return {
      folder: findFolder(sql, 'junk') ?? target,
      spam: withReason(spam, 'junk', 'BLOCKED_SENDER', 'You blocked this sender'),
      rules: 'none',
    } as const;
  if (judgement.junk === 'content' && ruling)
    return {
      folder: findFolder(sql, 'inbox') ?? target,
      spam: withReason(spam, 'ham', 'KNOWN_SENDER', ACQUAINTANCES[ruling.by]),
      rules: 'all',
    } as const;
  const rules = judgement.junk === 'no' ? 'all' : judgement.junk === 'content' ? 'moves' : 'none';
  return { folder: target, spam, rules } as const;
}

/** Replaces the verdict in a stored spam check, and adds the reason. */
function withReason(spam: string | null, verdict: 'junk' | 'ham', rule: string, text: string): string {
  const given = spam === null ? {} : (JSON.parse(spam) as { reasons?: readonly unknown[] });
  return JSON.stringify({ ...given, verdict, reasons: [...(given.reasons ?? []), { rule, score: 0, text }] });
}

const listKeys = ({ rawKey, parsed }: StoreMessageInput): (string | null)[] => [
  rawKey,
  parsed.text.r2Key,
  parsed.html?.r2Key ?? null,
  ...parsed.attachments.map((attachment) => attachment.r2Key),
];
