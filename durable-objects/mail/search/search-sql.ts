/**
 * Compiles a filter to SQL: texts that must match, texts that must not, and conditions on the message row. `search-walk-store.ts`
 * chooses which of them drives the search.
 */

import { type EmailFilter, type KeywordTest, NO_MESSAGE } from '../../../workers/mail/domain/email-filter.ts';
import { MESSAGE_FLAGS } from '../../../workers/mail/domain/message-flags.ts';
import type { FolderRow } from '../contract/folders.ts';
import { findFolder, isView } from '../messages/folder-store.ts';
import { parseThreadId } from '../messages/thread-store.ts';
import { type Condition, type TextScope, type TextTest, toMatch, toTextCondition, toTextTests } from './text-sql.ts';

/** A condition with an index of its own. The search can read its rows and test the other conditions on each. */
export interface Driver {
  /** Content of the `FROM` clause. The alias of the message is `m`. */
  readonly from: string;
  /** Column of the index with the position. A range of `m.position` would not narrow the index of another table. */
  readonly position: 'm.position' | 'd.position';
  readonly where: Condition;
  /** Content of a `FROM` clause that reads only the index, in order of position, to count rows. */
  readonly narrow: string;
  /** True if few messages have the condition, as far as that is known without reading rows. */
  readonly isRare: boolean;
  /** The filter of the condition. A search that reads the driver's rows does not test it again. */
  readonly filter: EmailFilter;
}

export interface CompiledSearch {
  readonly texts: readonly TextTest[];
  /** FTS5 expression of the texts that must not match; null if there are none. */
  readonly absent: string | null;
  /** @param done filter of the driver whose rows are read. */
  readonly conditions: (scope: TextScope, done?: EmailFilter) => readonly Condition[];
  readonly drivers: readonly Driver[];
  /** Window of positions: from `from` (inclusive) to `before` (exclusive). */
  readonly from: number;
  readonly before: number;
  /** Number of messages that match, if the filter names one folder and nothing else; null for any other filter. */
  readonly total: number | null;
}

type FolderFinder = (folderId: string) => FolderRow | null;

/** Positions are microseconds. A message has a later position than its time only if a thousand others have the same time. */
const MICROSECONDS = 1_000;
const LATER_POSITION_MS_MAX = 1_000;

/** @param filter null matches every message. The id of a view finds none, because no message is stored in it. */
export function compileSearch(sql: SqlStorage, filter: EmailFilter | null): CompiledSearch {
  const known = new Map<string, FolderRow | null>();
  const find = (folderId: string) => {
    const found = findFolder(sql, folderId);
    return found && !isView(found) ? found : null;
  };
  const folders: FolderFinder = (folderId) => {
    const folder = known.has(folderId) ? (known.get(folderId) ?? null) : find(folderId);
    known.set(folderId, folder);
    return folder;
  };
  const conjuncts = filter === null ? [] : flatten(filter);
  const texts = conjuncts.filter((part) => toMatch(part) !== null);
  const absent = conjuncts.map((part) => (part.kind === 'none' ? toMatch(part.of[0] ?? NO_MESSAGE) : null));
  const rest = conjuncts.filter((part, at) => !texts.includes(part) && absent[at] === null);
  const [only] = rest;
  const times = (kind: 'before' | 'after') => conjuncts.flatMap((part) => (part.kind === kind ? [part.time] : []));
  return {
    texts: toTextTests(texts),
    absent: absent.filter((each) => each !== null).join(' OR ') || null,
    conditions: (scope, done) => rest.filter((part) => part !== done).map((part) => toCondition(folders, part, scope)),
    drivers: rest.map((part) => toDriver(folders, part)).filter((driver) => driver !== null),
    from: Math.max(0, ...times('after')) * MICROSECONDS,
    before: Math.min(
      Number.MAX_SAFE_INTEGER,
      ...times('before').map((time) => (time + LATER_POSITION_MS_MAX) * MICROSECONDS),
    ),
    total: conjuncts.length === 1 && only?.kind === 'in' ? (folders(only.folderId)?.total ?? 0) : null,
  };
}

/** @returns filters that must all match. A negation among them has one member. */
function flatten(filter: EmailFilter): readonly EmailFilter[] {
  if (filter.kind === 'and') return filter.of.flatMap(flatten);
  if (filter.kind === 'none') return filter.of.map((part) => ({ kind: 'none', of: [part] }));
  return filter.kind === 'or' && filter.of[0] && filter.of.length === 1 ? flatten(filter.of[0]) : [filter];
}

/** Not the constants 1 and 0: beside a constant, SQLite would not see that a partial index named by `INDEXED BY` fits the query. */
const ALWAYS: Condition = { sql: 'm.position >= 0', values: [] };
const NEVER: Condition = { sql: 'm.position < 0', values: [] };
const plain = (sql: string): Condition => ({ sql, values: [] });
/**
 * Condition that a column has a value. The `+` keeps SQLite from joining two such conditions of one column (`is:read is:unread`).
 * After that, a partial index named by `INDEXED BY` would no longer fit the query, which is an error.
 */
const isValue = (column: string, value: 0 | 1): Condition => plain(`+${column} = ${value}`);

function toCondition(folders: FolderFinder, filter: EmailFilter, scope: TextScope): Condition {
  const match = toMatch(filter);
  if (match !== null) return toTextCondition(match, false, scope);
  const each = (parts: readonly EmailFilter[]) => parts.map((part) => toCondition(folders, part, scope));
  switch (filter.kind) {
    case 'text':
      return NEVER;
    case 'and':
      return join(each(filter.of), ' AND ', ALWAYS);
    case 'or':
      return join(each(filter.of), ' OR ', NEVER);
    case 'none': {
      const [only] = filter.of;
      if (filter.of.length === 1 && only?.kind === 'keyword' && only.scope === 'message')
        return toMark(only.test, 'm', false);
      const { sql, values } = join(each(filter.of), ' OR ', NEVER);
      return { sql: `NOT ${sql}`, values };
    }
    case 'in':
      return inFolder(folders(filter.folderId));
    case 'in_other_than':
      return inOtherThan(filter.folderIds.flatMap((id) => folders(id)?.folder ?? []));
    case 'visible':
      return isValue('m.is_visible', 1);
    case 'snoozed':
      return plain('m.snoozed_until IS NOT NULL');
    case 'muted':
      return plain('EXISTS (SELECT 1 FROM muted_thread AS q WHERE q.thread = m.thread)');
    case 'thread':
      return { sql: 'm.thread = ?', values: [parseThreadId(filter.threadId)] };
    case 'before':
      return { sql: 'm.received_at < ?', values: [filter.time] };
    case 'after':
      return { sql: 'm.received_at >= ?', values: [filter.time] };
    case 'min_size':
      return { sql: 'm.size_bytes >= ?', values: [filter.bytes] };
    case 'max_size':
      return { sql: 'm.size_bytes < ?', values: [filter.bytes] };
    case 'has_attachment':
      return isValue('m.has_attachment', filter.value ? 1 : 0);
    case 'keyword':
      return toKeywordCondition(filter.test, filter.scope);
    case 'header':
      return toHeaderCondition(filter.name.toLowerCase(), filter.text);
  }
}

const join = (parts: readonly Condition[], operator: ' AND ' | ' OR ', empty: Condition): Condition => ({
  sql: parts.length === 0 ? `(${empty.sql})` : `(${parts.map((part) => `(${part.sql})`).join(operator)})`,
  values: parts.flatMap((part) => part.values),
});

const inFolder = (folder: FolderRow | null): Condition =>
  folder === null
    ? NEVER
    : {
        sql: 'EXISTS (SELECT 1 FROM message_folder AS p WHERE p.folder = ? AND p.position = m.position)',
        values: [folder.folder],
      };

function inOtherThan(folders: readonly number[]): Condition {
  const others = '(SELECT value FROM json_each(?))';
  return {
    sql: `m.folder NOT IN ${others} OR EXISTS (SELECT 1 FROM json_each(m.also_in) AS a WHERE a.value NOT IN ${others})`,
    values: [JSON.stringify(folders), JSON.stringify(folders)],
  };
}

const hasLabel = (message: string): string =>
  `EXISTS (SELECT 1 FROM message_label AS l WHERE l.label = ? AND l.position = ${message}.position)`;

/** @param message alias of the message. @returns the condition that the message has the keyword, or has it not. */
function toMark(test: KeywordTest, message: 'm' | 't', isSet: boolean): Condition {
  const sign = isSet ? '' : 'NOT ';
  if (test.kind === 'label') return { sql: `${sign}${hasLabel(message)}`, values: [test.label] };
  // A draft of the web app has the origin `draft`; a draft of a JMAP client has the label `$draft`.
  if (test.flag === 'isDraft')
    return { sql: `${sign}(${message}.origin = 'draft' OR ${hasLabel(message)})`, values: ['$draft'] };
  return isValue(`${message}.${MESSAGE_FLAGS[test.flag]}`, isSet ? 1 : 0);
}

/** @param scope whether the message has the keyword, or all, some or none of the messages in its thread. */
export function toKeywordCondition(test: KeywordTest, scope: 'message' | 'all' | 'some' | 'none'): Condition {
  if (scope === 'message') return toMark(test, 'm', true);
  const { sql, values } = toMark(test, 't', scope !== 'all');
  const exists = `EXISTS (SELECT 1 FROM message AS t WHERE t.thread = m.thread AND (${sql}))`;
  return { sql: scope === 'some' ? exists : `NOT ${exists}`, values };
}

/**
 * Compares without regard to case, in ASCII only. The first `instr` tests all headers at once, which skips most messages before
 * their headers are parsed.
 */
const toHeaderCondition = (name: string, text: string | null): Condition => ({
  sql: `EXISTS (SELECT 1 FROM message_content AS c CROSS JOIN json_each(c.headers) AS h WHERE c.position = m.position
    AND instr(lower(c.headers), ?) > 0 AND lower(h.value ->> 'name') = ?
    ${text === null ? '' : "AND instr(lower(h.value ->> 'value'), lower(?)) > 0"})`,
  values: [JSON.stringify(name).slice(1, -1), name, ...(text === null ? [] : [text])],
});

/** A folder with at most this many messages drives the search, whatever else is searched for. */
const SMALL_FOLDER_MAX = 500;

/**
 * Makes the driver of a condition; null if the condition has no index. Each `from` names its index, because SQLite has no
 * statistics to choose one.
 */
function toDriver(folders: FolderFinder, filter: EmailFilter): Driver | null {
  const byIndex = (index: string, where: Condition, isRare: boolean): Driver => {
    const from = `message AS m INDEXED BY ${index}`;
    return { from, narrow: from, position: 'm.position', where, isRare, filter };
  };
  const byTable = (table: string, where: string, value: SqlStorageValue, isRare: boolean): Driver => ({
    from: `${table} AS d CROSS JOIN message AS m ON m.position = d.position`,
    narrow: `${table} AS d`,
    position: 'd.position',
    where: { sql: where, values: [value] },
    isRare,
    filter,
  });
  if (filter.kind === 'in') {
    const folder = folders(filter.folderId);
    return folder && byTable('message_folder', 'd.folder = ?', folder.folder, folder.total <= SMALL_FOLDER_MAX);
  }
  if (filter.kind === 'thread')
    return byIndex('message_thread', { sql: 'm.thread = ?', values: [parseThreadId(filter.threadId)] }, true);
  if (filter.kind === 'has_attachment')
    return filter.value ? byIndex('message_attachment', plain('m.has_attachment = 1'), false) : null;
  const isNot = filter.kind === 'none' && filter.of.length === 1;
  const mark = isNot ? filter.of[0] : filter;
  if (mark?.kind !== 'keyword' || mark.scope !== 'message') return null;
  if (mark.test.kind === 'label') return isNot ? null : byTable('message_label', 'd.label = ?', mark.test.label, true);
  if (mark.test.flag === 'isFlagged' && !isNot) return byIndex('message_flagged', plain('m.is_flagged = 1'), true);
  return mark.test.flag === 'isRead' && isNot ? byIndex('message_unread', plain('m.is_read = 0'), false) : null;
}
