/**
 * Answers `/changes` of each JMAP type (RFC 8620 §5.2) from the change log. The state of every type is the number of the last
 * change.
 */
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { JmapType } from '../contract/changed-types.ts';
import type { Change } from '../contract/changes.ts';
import { ALL_OBJECTS, type TypeChanges } from '../contract/jmap.ts';
import { readState } from '../database/change-store.ts';
import { first } from '../database/store.ts';

type Event = { readonly kind: 'created' | 'updated' | 'counted' | 'destroyed'; readonly id: string };

/** Maximum of change records read per answer, of all types. */
const ROWS_MAX = 20_000;
const listAfter = statement<{ since: number; limit: number }, { state: number; body: string }>(
  'SELECT state, body FROM change WHERE state > :since ORDER BY state LIMIT :limit',
);

/**
 * @returns the changes of a type since a state; null if the state is too old or of another mailbox. The client must then reload
 * everything.
 */
export function readTypeChanges(
  sql: SqlStorage,
  type: JmapType,
  { since, max, folderId }: { readonly since: number; readonly max: number; readonly folderId: string | null },
): TypeChanges | null {
  const latest = readState(sql);
  const floor = first<{ floor: number }>(sql, 'SELECT state_floor AS floor FROM mailbox WHERE id = 1')?.floor ?? 0;
  if (since < floor || since > latest) return null;
  const objects = new Map<string, { isNew: boolean; isGone: boolean; isUpdated: boolean }>();
  const threadIds = new Set<string>();
  const inside = new Set<string>();
  let onlyCounts = true;
  let state = since;
  let rows = 0;
  for (const row of execute(sql, listAfter, { since, limit: ROWS_MAX })) {
    const change = JSON.parse(row.body) as Change;
    const events = toEvents(sql, type, change);
    const added = new Set(events.map(({ id }) => id).filter((id) => !objects.has(id))).size;
    // A change record that alone has more objects than `max` is answered all the same, but with no other record.
    if (objects.size > 0 && objects.size + added > max) break;
    for (const { kind, id } of events) {
      const known = objects.get(id) ?? { isNew: kind === 'created', isGone: false, isUpdated: false };
      known.isUpdated ||= kind === 'updated' || kind === 'counted';
      known.isGone = kind === 'destroyed';
      if (kind === 'updated' && !known.isNew) onlyCounts = false;
      objects.set(id, known);
      if (folderId === null || mayBeIn(change, folderId)) inside.add(id);
    }
    for (const id of [change.thread_id, change.left_thread_id]) if (id !== undefined) threadIds.add(id);
    state = row.state;
    rows += 1;
  }
  if (rows === 0 || (rows < ROWS_MAX && objects.size <= max && state === latest)) state = latest;
  const select = (test: (each: { isNew: boolean; isGone: boolean; isUpdated: boolean }) => boolean) =>
    [...objects].filter(([, each]) => test(each)).map(([id]) => id);
  const updated = select(({ isNew, isGone, isUpdated }) => !isNew && !isGone && isUpdated);
  return {
    newState: String(state),
    hasMoreChanges: state < latest,
    created: select(({ isNew, isGone }) => isNew && !isGone),
    updated,
    destroyed: select(({ isNew, isGone }) => isGone && !isNew),
    onlyCounts: updated.length > 0 && onlyCounts,
    threadIds: [...threadIds],
    outside: [...objects.keys()].filter((id) => !inside.has(id)),
  };
}

/** False if the change shows that its message was not in the folder, neither before it nor after it. */
const mayBeIn = ({ folder_id, folder_ids = [], left_folder_ids = [] }: Change, folderId: string): boolean =>
  folder_id === undefined || [folder_id, ...folder_ids, ...left_folder_ids].includes(folderId);

function toEvents(sql: SqlStorage, type: JmapType, change: Change): Event[] {
  switch (type) {
    case 'Email':
      return toEmailEvents(change);
    case 'Thread':
      return toThreadEvents(change);
    case 'Mailbox':
      return toMailboxEvents(change);
    case 'EmailSubmission':
      return toSubmissionEvents(sql, change);
    case 'Identity':
      return toIdentityEvents(change);
    case 'VacationResponse':
      return change.type === 'mailbox_updated' ? [{ kind: 'updated', id: ALL_OBJECTS }] : [];
    case 'EmailDelivery':
      return [];
    case 'Quota':
      return isAboutMail(change) || change.type === 'mailbox_updated' ? [{ kind: 'updated', id: ALL_OBJECTS }] : [];
  }
}

const MAIL_KINDS = { message_created: 'created', message_updated: 'updated', message_deleted: 'destroyed' } as const;
const isAboutMail = (change: Change): change is Change & { type: keyof typeof MAIL_KINDS } => change.type in MAIL_KINDS;

function toEmailEvents(change: Change): Event[] {
  if (!isAboutMail(change) || change.message_id === undefined) return [];
  const { email_id: id = change.message_id, replaced_email_id: replaced } = change;
  if (replaced === undefined) return [{ kind: MAIL_KINDS[change.type], id }];
  return [
    { kind: 'destroyed', id: replaced },
    { kind: 'created', id },
  ];
}

function toThreadEvents(change: Change): Event[] {
  if (!isAboutMail(change) || change.thread_id === undefined) return [];
  if (change.replaced_email_id !== undefined) {
    const left = change.left_thread_id;
    const kind = change.thread === 'ended' ? 'destroyed' : 'updated';
    return [{ kind: 'updated', id: change.thread_id }, ...(left === undefined ? [] : [{ kind, id: left } as const])];
  }
  if (change.type === 'message_updated') return [];
  const kind = change.thread === 'began' ? 'created' : change.thread === 'ended' ? 'destroyed' : 'updated';
  return [{ kind, id: change.thread_id }];
}

const FOLDER_KINDS = { folder_created: 'created', folder_updated: 'updated', folder_deleted: 'destroyed' } as const;

function toMailboxEvents(change: Change): Event[] {
  if (change.type in FOLDER_KINDS && change.folder_id !== undefined)
    return [{ kind: FOLDER_KINDS[change.type as keyof typeof FOLDER_KINDS], id: change.folder_id }];
  if (!isAboutMail(change)) return [];
  const { folder_id, folder_ids = [], left_folder_ids = [] } = change;
  const ids = new Set([...(folder_id === undefined ? [] : [folder_id]), ...folder_ids, ...left_folder_ids]);
  return [...ids].map((id) => ({ kind: 'counted', id }));
}

const listSubmissions = statement<{ messageId: string }, { submission_id: string }>(
  // Covers all email ids of a draft: the message's id, alone or with `-` and a revision. `.` is the character after `-`.
  `SELECT submission_id FROM email_submission WHERE email_id >= :messageId AND email_id < :messageId || '.'`,
);

function toSubmissionEvents(sql: SqlStorage, change: Change): Event[] {
  const { type, submission_id: id, message_id: messageId } = change;
  if (type === 'submission_created' && id !== undefined) return [{ kind: 'created', id }];
  if (type === 'submission_deleted' && id !== undefined) return [{ kind: 'destroyed', id }];
  if (type !== 'delivery_updated' || messageId === undefined) return [];
  return [...execute(sql, listSubmissions, { messageId })].map((row) => ({ kind: 'updated', id: row.submission_id }));
}

const IDENTITY_KINDS = {
  identity_created: 'created',
  identity_updated: 'updated',
  identity_deleted: 'destroyed',
  mailbox_updated: 'updated',
} as const;

function toIdentityEvents(change: Change): Event[] {
  if (!(change.type in IDENTITY_KINDS)) return [];
  const id = change.type === 'mailbox_updated' ? ALL_OBJECTS : (change.identity_id ?? ALL_OBJECTS);
  return [{ kind: IDENTITY_KINDS[change.type as keyof typeof IDENTITY_KINDS], id }];
}
