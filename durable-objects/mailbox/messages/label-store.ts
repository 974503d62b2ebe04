/** Labels of messages, and how many messages have each. */

export interface LabelPatch {
  /** Replaces the whole set. */
  readonly labels?: readonly string[] | undefined;
  readonly addLabels?: readonly string[] | undefined;
  readonly removeLabels?: readonly string[] | undefined;
}

export interface LabelCounts {
  readonly label: string;
  readonly total: number;
  readonly unread: number;
}

export function insertLabel(sql: SqlStorage, position: number, label: string): void {
  sql.exec('INSERT OR IGNORE INTO message_label (label, position) VALUES (?, ?)', label, position);
}

export function listLabels(sql: SqlStorage, position: number): string[] {
  return [
    ...sql.exec<{ label: string }>('SELECT label FROM message_label WHERE position = ? ORDER BY label', position),
  ].map((row) => row.label);
}

/** @returns whether anything changed. */
export function patchLabels(sql: SqlStorage, position: number, patch: LabelPatch): boolean {
  if (!patch.labels && !patch.addLabels && !patch.removeLabels) return false;
  const before = listLabels(sql, position);
  const after = new Set(patch.labels ?? before);
  for (const label of patch.addLabels ?? []) after.add(label);
  for (const label of patch.removeLabels ?? []) after.delete(label);
  const removed = before.filter((label) => !after.has(label));
  const added = [...after].filter((label) => !before.includes(label));
  for (const label of removed) sql.exec('DELETE FROM message_label WHERE label = ? AND position = ?', label, position);
  for (const label of added) insertLabel(sql, position, label);
  return removed.length + added.length > 0;
}

/**
 * Counts messages per label, in order of name, after `after`. Messages in Junk and Trash do not count, so a label that only they have
 * counts zero. Work grows with labels, hidden and unread messages, not with the size of the mailbox.
 */
export function countLabels(sql: SqlStorage, after: string, limit: number): LabelCounts[] {
  const totals = sql.exec<{ label: string; count: number }>(
    'SELECT label, count(*) AS count FROM message_label WHERE label > ? GROUP BY label ORDER BY label LIMIT ?',
    after,
    limit,
  );
  const hidden = countByLabel(sql, 'message_expires', 'm.expires_at IS NOT NULL');
  const unread = countByLabel(sql, 'message_unread_all', 'm.is_read = 0 AND m.is_visible = 1');
  return [...totals].map(({ label, count }) => ({
    label,
    total: count - (hidden.get(label) ?? 0),
    unread: unread.get(label) ?? 0,
  }));
}

function countByLabel(sql: SqlStorage, index: string, where: string): Map<string, number> {
  const rows = sql.exec<{ label: string; count: number }>(
    `SELECT l.label, count(*) AS count FROM message AS m INDEXED BY ${index}
     CROSS JOIN message_label AS l ON l.position = m.position WHERE ${where} GROUP BY l.label`,
  );
  return new Map([...rows].map(({ label, count }) => [label, count]));
}
