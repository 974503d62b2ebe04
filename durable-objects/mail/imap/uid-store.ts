/**
 * UIDs of mail programs (RFC 3501 §2.3.1.1). A UID is the number of the change that placed the message in the folder, so all UIDs of a
 * mailbox come from one counter, and a folder that gets the name of another has no UID that the other had. Most UIDs are stored when
 * the message is placed. Here are the others: placings by 0.2.0, which stored none, and drafts, whose content changes.
 */
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import { readState } from '../database/change-store.ts';
import { first } from '../database/store.ts';
import { type MessageState, STATE_COLUMNS } from '../messages/message-row-store.ts';
import { foldersOf, patchMessage } from '../messages/message-store.ts';
import { mintUid } from '../messages/position-store.ts';
import { raiseState } from '../messages/uid-validity-store.ts';

type Placing = { folder: number; position: number };

const listUnnumbered = statement<Record<never, never>, Placing>(
  'SELECT folder, position FROM message_folder WHERE uid IS NULL ORDER BY position',
);
/** Drafts whose UID belongs to an earlier revision. Reads only the drafts. */
const listChangedDrafts = statement<Record<never, never>, MessageState>(
  `SELECT ${STATE_COLUMNS} FROM message WHERE position IN
     (SELECT position FROM draft WHERE uid_revision IS NOT revision) ORDER BY position`,
);
const setUid = statement<Placing & { uid: number }>(
  'UPDATE message_folder SET uid = :uid WHERE folder = :folder AND position = :position',
);
const raiseNext = statement<{ folder: number; uid: number }>(
  'UPDATE folder SET uid_next = max(uid_next, :uid + 1) WHERE folder = :folder',
);
const setDraftRevision = statement<{ position: number }>(
  'UPDATE draft SET uid_revision = revision WHERE position = :position',
);

export interface Unsettled {
  readonly unnumbered: readonly Placing[];
  readonly drafts: readonly MessageState[];
}

/**
 * Finds what needs a new UID before a mail program may read.
 * @param isNumbered true if every placing is known to have a UID. Only older code makes one without, so one look per object is enough.
 * @returns null if nothing does.
 */
export function findUnsettled(sql: SqlStorage, isNumbered: boolean): Unsettled | null {
  const unnumbered = isNumbered ? [] : [...execute(sql, listUnnumbered, {})];
  const drafts = [...execute(sql, listChangedDrafts, {})];
  return unnumbered.length + drafts.length > 0 ? { unnumbered, drafts } : null;
}

/** Gives new UIDs, and moves the change number past them. Runs in the caller's transaction. */
export function settleUids(sql: SqlStorage, { unnumbered, drafts }: Unsettled, now: number): void {
  const before = readState(sql);
  const last = new Map<number, number>();
  for (const [at, { folder, position }] of unnumbered.entries()) {
    const uid = before + 1 + at;
    execute(sql, setUid, { folder, position, uid });
    last.set(folder, uid);
  }
  for (const [folder, uid] of last) execute(sql, raiseNext, { folder, uid });
  raiseState(sql, before + unnumbered.length, now);
  for (const draft of drafts) settleDraft(sql, draft, now);
}

/** Gives a draft new UIDs because its content changed. */
function settleDraft(sql: SqlStorage, draft: MessageState, now: number): void {
  const uid = mintUid(sql);
  for (const folder of foldersOf(draft)) {
    execute(sql, setUid, { folder, position: draft.position, uid });
    execute(sql, raiseNext, { folder, uid });
  }
  execute(sql, setDraftRevision, { position: draft.position });
  patchMessage(sql, draft, { isMarked: true }, now);
}

/** @returns the UID of a message in a folder; null if it is not in the folder. */
export const readUid = (sql: SqlStorage, folder: number, position: number): number | null =>
  first<{ uid: number | null }>(
    sql,
    'SELECT uid FROM message_folder WHERE folder = ? AND position = ?',
    folder,
    position,
  )?.uid ?? null;
