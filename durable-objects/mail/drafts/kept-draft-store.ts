/**
 * Drafts in which messages over the sending limit are kept, by Idempotency-Key. A repeated request therefore makes no second draft.
 */
import { ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { DraftError, Idempotency, KeptMessage } from '../contract/drafts.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import { executeFirst } from '../database/store.ts';
import type { keptDraft } from '../messages/schema.ts';
import { createDraft, deleteDraft, readDraft, replaceDraft } from './draft-store.ts';

/** Maximum age of a key, the same as for keys of accepted submissions. */
const KEY_AGE_MAX_MS = 7 * 24 * 3_600_000;

type KeptRow = Pick<RowOf<typeof keptDraft>, 'request_sha256' | 'message_id' | 'revision'>;
const find = statement<{ key: string }, KeptRow>(
  'SELECT request_sha256, message_id, revision FROM kept_draft WHERE idempotency_key = :key',
);
const remove = statement<{ key: string }>('DELETE FROM kept_draft WHERE idempotency_key = :key');
const prune = statement<{ until: number }>('DELETE FROM kept_draft WHERE created_at < :until');
const save = statement<{ key: string; requestSha256: string; messageId: string; revision: number; now: number }>(
  `INSERT INTO kept_draft (idempotency_key, request_sha256, message_id, revision, created_at)
   VALUES (:key, :requestSha256, :messageId, :revision, :now)
   ON CONFLICT (idempotency_key) DO UPDATE SET request_sha256 = excluded.request_sha256,
     message_id = excluded.message_id, revision = excluded.revision, created_at = excluded.created_at`,
);

/** @returns the draft in which a request with this key was kept; null if there is none, or if the user deleted or sent it. */
export function findKeptDraft(sql: SqlStorage, idempotency: Idempotency): KeptDraft | null {
  const row = executeFirst(sql, find, { key: idempotency.key });
  const draft = row && readDraft(sql, row.message_id);
  if (!draft) return null;
  const { messageId, revision } = draft;
  const isUnchanged = revision === row.revision;
  return { messageId, revision, isUnchanged, isSameRequest: row.request_sha256 === idempotency.requestSha256 };
}

export interface KeptDraft {
  readonly messageId: string;
  readonly revision: number;
  /** True if the user has not edited the draft since the message was kept. */
  readonly isUnchanged: boolean;
  readonly isSameRequest: boolean;
}

/**
 * Keeps a message as a draft. A request with a known key updates the draft of that key, unless the user edited it.
 * @returns the draft's id.
 */
export function keepDraft(
  sql: SqlStorage,
  mailbox: MailboxRow,
  { content, cleanedHtml, idempotency }: KeptMessage,
  now: number,
): Result<string, DraftError> {
  const known = idempotency && findKeptDraft(sql, idempotency);
  if (known?.isSameRequest) return ok(known.messageId);
  const draft = known?.isUnchanged
    ? replaceDraft(sql, mailbox, known.messageId, { content, cleanedHtml, revision: known.revision }, now)
    : createDraft(sql, mailbox, content, cleanedHtml, now);
  if (!draft.ok) return draft;
  const { messageId, revision } = draft.value;
  execute(sql, prune, { until: now - KEY_AGE_MAX_MS });
  if (idempotency) execute(sql, save, { ...idempotency, messageId, revision, now });
  return ok(messageId);
}

/** Deletes the draft of a message that is now sent, unless the user edited it. Call it in the transaction that sends. */
export function dropKeptDraft(sql: SqlStorage, idempotency: Idempotency, now: number): void {
  const known = findKeptDraft(sql, idempotency);
  if (known?.isUnchanged) deleteDraft(sql, known.messageId, now);
  execute(sql, remove, { key: idempotency.key });
}
