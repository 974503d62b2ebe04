/** Labels of messages, and how many messages have each. */
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { LabelCounts, LabelPatch } from '../contract/messages.ts';
import type { messageLabel } from './schema.ts';

/** Label that marks drafts of mail clients. Drafts of the web app have the origin `draft` instead. */
export const DRAFT_LABEL = '$draft';

type LabelRow = Pick<RowOf<typeof messageLabel>, 'label'>;
const insert = statement<{ label: string; position: number }>(
  'INSERT OR IGNORE INTO message_label (label, position) VALUES (:label, :position)',
);
const remove = statement<{ label: string; position: number }>(
  'DELETE FROM message_label WHERE label = :label AND position = :position',
);
const list = statement<{ position: number }, LabelRow>(
  'SELECT label FROM message_label WHERE position = :position ORDER BY label',
);

export function insertLabel(sql: SqlStorage, position: number, label: string): void {
  execute(sql, insert, { label, position });
}

export const listLabels = (sql: SqlStorage, position: number): string[] =>
  [...execute(sql, list, { position })].map((row) => row.label);

/** Changes the labels of a message. @returns whether any label changed. */
export function patchLabels(sql: SqlStorage, position: number, patch: LabelPatch): boolean {
  if (!patch.labels && !patch.addLabels && !patch.removeLabels) return false;
  const before = listLabels(sql, position);
  const after = new Set(patch.labels ?? before);
  for (const label of patch.addLabels ?? []) after.add(label);
  for (const label of patch.removeLabels ?? []) after.delete(label);
  const removed = before.filter((label) => !after.has(label));
  const added = [...after].filter((label) => !before.includes(label));
  for (const label of removed) execute(sql, remove, { label, position });
  for (const label of added) insertLabel(sql, position, label);
  return removed.length + added.length > 0;
}

type CountRow = LabelRow & { count: number };
const countAll = statement<{ after: string; limit: number }, CountRow>(
  `SELECT label, count(*) AS count FROM message_label WHERE label > :after GROUP BY label ORDER BY label LIMIT :limit`,
);
/** The index that each of the next two statements reads contains only the messages that are counted. */
const countHidden = statement<Record<never, never>, CountRow>(
  `SELECT l.label, count(*) AS count FROM message AS m INDEXED BY message_expires
   CROSS JOIN message_label AS l ON l.position = m.position WHERE m.expires_at IS NOT NULL GROUP BY l.label`,
);
const countUnread = statement<Record<never, never>, CountRow>(
  `SELECT l.label, count(*) AS count FROM message AS m INDEXED BY message_unread
   CROSS JOIN message_label AS l ON l.position = m.position WHERE m.is_read = 0 AND m.is_visible = 1 GROUP BY l.label`,
);
const toCounts = (rows: Iterable<CountRow>) => new Map([...rows].map(({ label, count }) => [label, count]));

/**
 * Counts messages per label, for the labels after `after` in order of name. Messages in Junk and Trash do not count, so a label
 * that only they have counts zero. The work grows with the numbers of labels, hidden messages and unread messages.
 */
export function countLabels(sql: SqlStorage, after: string, limit: number): LabelCounts[] {
  const totals = [...execute(sql, countAll, { after, limit })];
  const hidden = toCounts(execute(sql, countHidden, {}));
  const unread = toCounts(execute(sql, countUnread, {}));
  return totals.map(({ label, count }) => ({
    label,
    total: count - (hidden.get(label) ?? 0),
    unread: unread.get(label) ?? 0,
  }));
}
