/**
 * Compiles a parsed query to SQL: texts that must match, texts that must not, and conditions on the message row.
 * `search-walk-store.ts` chooses which of them drives the search. In every statement, `?1` and `?2` are the window of positions:
 * before `?1` (exclusive), from `?2`.
 */

import { toInflections, toPhrase } from '../../../workers/mail/domain/search-text.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { FolderRow } from '../contract/folders.ts';
import type { CompileError } from '../contract/search.ts';
import { PERIOD_TERM_SQL } from '../database/search-index-store.ts';
import type { SearchNode, TextField } from '../domain/search-query.ts';
import { findFolder, findFolderByName, isView } from '../messages/folder-store.ts';
import { parseThreadId } from '../messages/thread-store.ts';

export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlStorageValue[];
}

/** A condition with an index of its own. The search can read its rows and test the other conditions on each. */
export interface Driver {
  /** Content of the `FROM` clause. The alias of the message is `m`. */
  readonly from: string;
  /** Column of the index with the position. A range of `m.position` would not narrow the index of another table. */
  readonly position: 'm.position' | 'd.position';
  readonly where: Condition;
  /** Content of a `FROM` clause that reads only the index, in order of position, to count rows. */
  readonly narrow: string;
}

/** A text that must match, as an FTS5 expression. */
export interface TextTest {
  readonly expression: string;
  /** True for one term or its inflections, which is cheap to test on a single message. */
  readonly isOneTerm: boolean;
  /**
   * FTS5 expressions for parts of the text. Each matches at least the messages that the whole text matches, so its row count
   * shows how selective the text is.
   */
  readonly probes: readonly string[];
}

/**
 * How texts are tested: all messages of the window at once, or each message alone. `periods` is an FTS5 expression that narrows the
 * full-text index to the window.
 */
export type TextScope = { readonly kind: 'window'; readonly periods: string | null } | { readonly kind: 'message' };

export interface CompiledSearch {
  readonly texts: readonly TextTest[];
  /** FTS5 expression of the texts that must not match; null if there are none. */
  readonly absent: string | null;
  readonly conditions: (scope: TextScope) => readonly Condition[];
  readonly drivers: readonly Driver[];
  /** Window of positions: from `from` (inclusive) to `before` (exclusive). */
  readonly from: number;
  readonly before: number;
}

const COLUMN_OF: Readonly<Record<Exclude<TextField, 'any'>, string>> = {
  sender: 'sender',
  recipients: 'recipients',
  copies: 'copies',
  hidden: 'hidden',
  subject: 'subject',
  files: 'files',
};

type TextNode = Extract<SearchNode, { kind: 'text' }>;

/** Terms contain only letters, digits and marks, so quotes need no escaping. */
function toTextExpression(node: TextNode): string {
  const parts = toPhrase(node.text, node.match === 'prefix');
  const phrase = (terms: readonly string[], isPrefix: boolean) => `"${terms.join(' ')}"${isPrefix ? '*' : ''}`;
  const forms = [
    phrase(
      parts.map((part) => part.term),
      parts.at(-1)?.isPrefix ?? false,
    ),
  ];
  const [only] = parts;
  if (node.match === 'word' && parts.length === 1 && only) {
    for (const form of toInflections(only.term)) forms.push(phrase([form], false));
  }
  return inColumn(node.field, forms.length === 1 ? (forms[0] ?? '') : `(${forms.join(' OR ')})`);
}

const inColumn = (field: TextField, expression: string): string =>
  field === 'any' ? expression : `{${COLUMN_OF[field]}} : ${expression}`;

/**
 * @returns the FTS5 expression of a node. Null if the node has conditions other than text, or is a lone negation, which FTS5 cannot
 * express.
 */
function toMatch(node: SearchNode): string | null {
  switch (node.kind) {
    case 'text':
      return toTextExpression(node);
    case 'or': {
      const parts = node.of.map(toMatch);
      return parts.includes(null) ? null : `(${parts.join(' OR ')})`;
    }
    case 'and': {
      const positive = node.of.filter((part) => part.kind !== 'not').map(toMatch);
      const negative = node.of.filter((part) => part.kind === 'not').map((part) => toMatch(part.of));
      if (positive.length === 0 || positive.includes(null) || negative.includes(null)) return null;
      const base = positive.join(' AND ');
      return negative.length === 0 ? `(${base})` : `((${base}) NOT (${negative.join(' OR ')}))`;
    }
    default:
      return null;
  }
}

class UnknownFolder extends Error {}

/** @param node the parsed query; null matches every message. */
export function compileSearch(sql: SqlStorage, node: SearchNode | null): Result<CompiledSearch, CompileError> {
  const folders = createFolderFinder(sql);
  const conjuncts = node === null ? [] : flatten(node);
  const isTime = (part: SearchNode) => part.kind === 'before' || part.kind === 'after';
  const texts = conjuncts.filter((part) => toMatch(part) !== null);
  const absent = conjuncts.map((part) => (part.kind === 'not' ? toMatch(part.of) : null));
  const rest = conjuncts.filter((part, at) => !texts.includes(part) && absent[at] === null && !isTime(part));
  const conditions = (scope: TextScope) => [
    ...rest.map((part) => toCondition(folders, part, scope)),
    ...(conjuncts.some(namesFolder) ? [] : [{ sql: 'm.is_visible = 1', values: [] }]),
  ];
  const times = (kind: 'before' | 'after') =>
    conjuncts.flatMap((part) => (part.kind === kind ? [part.time * 1_000] : []));
  try {
    conditions({ kind: 'message' });
    return ok({
      texts: texts.map(toTextTest),
      absent: absent.filter((each) => each !== null).join(' OR ') || null,
      conditions,
      drivers: rest.map((part) => toDriver(folders, part)).filter((driver) => driver !== null),
      from: Math.max(0, ...times('after')),
      before: Math.min(Number.MAX_SAFE_INTEGER, ...times('before')),
    });
  } catch (error) {
    if (error instanceof UnknownFolder) return err({ kind: 'bad_request', path: 'q', message: error.message });
    throw error;
  }
}

const flatten = (node: SearchNode): readonly SearchNode[] => (node.kind === 'and' ? node.of.flatMap(flatten) : [node]);

function toTextTest(node: SearchNode): TextTest {
  const expression = toMatch(node) ?? '';
  if (node.kind !== 'text') return { expression, isOneTerm: false, probes: [] };
  const parts = toPhrase(node.text, node.match === 'prefix');
  if (parts.length === 1) return { expression, isOneTerm: true, probes: [expression] };
  const probes = parts.map(({ term, isPrefix }) => inColumn(node.field, `"${term}"${isPrefix ? '*' : ''}`));
  return { expression, isOneTerm: false, probes };
}

/** @returns the SQL condition that a message has a text. @param expression the text as an FTS5 expression. */
export function toTextCondition(expression: string, isOneTerm: boolean, scope: TextScope): Condition {
  if (scope.kind === 'window') {
    // LIMIT keeps the order of the subquery. FTS5 ends quickly at the window's end only if it reads the newest message first.
    return {
      sql: `m.position IN (SELECT rowid FROM message_search WHERE rowid < ?1 AND rowid >= ?2 AND message_search MATCH ?
        ORDER BY rowid DESC LIMIT -1)`,
      values: [scope.periods === null ? expression : `${scope.periods} AND (${expression})`],
    };
  }
  // Without a hit, FTS5 searches on to the next hit, however far away. Requiring the message's period term stops it.
  const asked = isOneTerm ? '?' : `${PERIOD_TERM_SQL} || ' AND (' || ? || ')'`;
  return {
    sql: `EXISTS (SELECT 1 FROM message_search WHERE message_search.rowid = m.position AND message_search MATCH ${asked})`,
    values: [expression],
  };
}

function namesFolder(node: SearchNode): boolean {
  if (node.kind === 'and' || node.kind === 'or') return node.of.some(namesFolder);
  if (node.kind === 'not') return false;
  return node.kind === 'in';
}

function toCondition(folders: FolderFinder, node: SearchNode, scope: TextScope): Condition {
  const match = toMatch(node);
  if (match !== null) return toTextCondition(match, false, scope);
  switch (node.kind) {
    case 'text':
      throw new Error('a text is always an expression');
    case 'and':
    case 'or': {
      const parts = node.of.map((part) => toCondition(folders, part, scope));
      return {
        sql: `(${parts.map((part) => part.sql).join(node.kind === 'and' ? ' AND ' : ' OR ')})`,
        values: parts.flatMap((part) => part.values),
      };
    }
    case 'not': {
      const inner = toCondition(folders, node.of, scope);
      return { sql: `NOT (${inner.sql})`, values: inner.values };
    }
    case 'in':
      return toFolderCondition(folders, node.folder, node.at);
    case 'label':
      return {
        sql: 'EXISTS (SELECT 1 FROM message_label AS l WHERE l.label = ? AND l.position = m.position)',
        values: [node.label],
      };
    case 'is':
      return { sql: FLAG_CONDITIONS[node.flag], values: [] };
    case 'has_attachment':
      return { sql: 'm.has_attachment = 1', values: [] };
    case 'thread':
      return { sql: 'm.thread = ?', values: [parseThreadId(node.threadId)] };
    case 'header':
      return toHeaderCondition(node.name, node.text);
    case 'before':
      return { sql: 'm.position < ?', values: [node.time * 1_000] };
    case 'after':
      return { sql: 'm.position >= ?', values: [node.time * 1_000] };
    case 'larger':
      return { sql: 'm.size_bytes > ?', values: [node.bytes] };
    case 'smaller':
      return { sql: 'm.size_bytes < ?', values: [node.bytes] };
  }
}

const FLAG_CONDITIONS = {
  read: 'm.is_read = 1',
  unread: 'm.is_read = 0',
  flagged: 'm.is_flagged = 1',
  unflagged: 'm.is_flagged = 0',
  draft: "m.origin = 'draft'",
  answered: 'm.is_answered = 1',
  unanswered: 'm.is_answered = 0',
  forwarded: 'm.is_forwarded = 1',
  snoozed: 'm.snoozed_until IS NOT NULL',
  muted: 'EXISTS (SELECT 1 FROM muted_thread AS q WHERE q.thread = m.thread)',
} as const;

/**
 * Compares without regard to case, in ASCII only. The first `instr` tests all headers at once, which skips most messages before
 * their headers are parsed.
 */
const toHeaderCondition = (name: string, text: string): Condition => ({
  sql: `EXISTS (SELECT 1 FROM message_content AS c CROSS JOIN json_each(c.headers) AS h WHERE c.position = m.position
    AND instr(lower(c.headers), ?) > 0 AND lower(h.value ->> 'name') = ? AND instr(lower(h.value ->> 'value'), lower(?)) > 0)`,
  values: [name, name, text],
});

/** Finds a folder by role, name or id. @throws UnknownFolder if there is none. */
type FolderFinder = (name: string, at: number) => FolderRow;

/** @returns a finder that looks each folder up once, even if several conditions name it. */
function createFolderFinder(sql: SqlStorage): FolderFinder {
  const known = new Map<string, FolderRow>();
  return (name, at) => {
    const folder =
      known.get(name) ?? findFolder(sql, name.toLowerCase()) ?? findFolderByName(sql, name) ?? findFolder(sql, name);
    if (!folder) throw new UnknownFolder(`At character ${at + 1}: there is no folder "${name}".`);
    known.set(name, folder);
    return folder;
  };
}

function toFolderCondition(folders: FolderFinder, name: string, at: number): Condition {
  if (/^(?:any|anywhere)$/i.test(name)) return { sql: '1', values: [] };
  const folder = folders(name, at);
  if (!isView(folder))
    return {
      sql: 'EXISTS (SELECT 1 FROM message_folder AS p WHERE p.folder = ? AND p.position = m.position)',
      values: [folder.folder],
    };
  const isAll = folder.role === 'all';
  return { sql: isAll ? '(m.is_visible = 1)' : '(m.is_flagged = 1 AND m.is_visible = 1)', values: [] };
}

/**
 * Makes the driver of a condition; null if the condition has no index. Each `from` names its index, because SQLite has no
 * statistics to choose one.
 */
function toDriver(folders: FolderFinder, node: SearchNode): Driver | null {
  const byIndex = (index: string, where: string): Driver => ({
    from: `message AS m INDEXED BY ${index}`,
    narrow: `message AS m INDEXED BY ${index}`,
    position: 'm.position',
    where: { sql: where, values: [] },
  });
  const byTable = (table: string, where: string, value: SqlStorageValue): Driver => ({
    from: `${table} AS d CROSS JOIN message AS m ON m.position = d.position`,
    narrow: `${table} AS d`,
    position: 'd.position',
    where: { sql: where, values: [value] },
  });
  switch (node.kind) {
    case 'in': {
      if (/^(?:any|anywhere)$/i.test(node.folder)) return null;
      const folder = folders(node.folder, node.at);
      if (folder.role === 'flagged') return byIndex('message_flagged', 'm.is_flagged = 1');
      return isView(folder) ? null : byTable('message_folder', 'd.folder = ?', folder.folder);
    }
    case 'is':
      if (node.flag === 'flagged') return byIndex('message_flagged', 'm.is_flagged = 1');
      return node.flag === 'unread' ? byIndex('message_unread', 'm.is_read = 0') : null;
    case 'has_attachment':
      return byIndex('message_attachment', 'm.has_attachment = 1');
    case 'thread':
      return {
        ...byIndex('message_thread', 'm.thread = ?'),
        where: { sql: 'm.thread = ?', values: [parseThreadId(node.threadId)] },
      };
    case 'label':
      return byTable('message_label', 'd.label = ?', node.label);
    default:
      return null;
  }
}
