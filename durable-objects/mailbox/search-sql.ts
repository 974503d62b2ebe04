/**
 * From a parsed query to SQL. What can be asked of the full-text index in one expression is one `MATCH`; the rest are
 * conditions on the message row. `search-store.ts` chooses which of them drives.
 */

import type { SearchNode, TextField } from '../../workers/mail/domain/search-query.ts';
import { toInflections, toPhrase } from '../../workers/mail/domain/search-text.ts';
import { err, ok, type Result } from '../../workers/shared/result.ts';
import { type FolderRow, findFolder, findFolderByName, isView } from './folder-store.ts';

export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlStorageValue[];
}

/** A condition that an index of its own answers, so that it can drive the search. */
export interface Driver {
  /** `FROM` this, with the message as `m`, in the order of its positions. */
  readonly from: string;
  readonly where: Condition;
}

export interface CompiledSearch {
  /** FTS5 expression of all that must be in the text; null when nothing is asked of it. */
  readonly match: string | null;
  /** When nothing must be in the text: FTS5 expression of what must not be; null when there is no such thing. */
  readonly absent: string | null;
  readonly conditions: readonly Condition[];
  readonly drivers: readonly Driver[];
}

export type CompileError = { readonly kind: 'bad_request'; readonly path: string; readonly message: string };

const COLUMN_OF: Readonly<Record<Exclude<TextField, 'any'>, string>> = {
  sender: 'sender',
  recipients: 'recipients',
  copies: 'copies',
  subject: 'subject',
  files: 'files',
};

type TextNode = Extract<SearchNode, { kind: 'text' }>;

/** Terms hold letters, digits and marks alone, so quoting them is enough. */
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
  const expression = forms.length === 1 ? (forms[0] ?? '') : `(${forms.join(' OR ')})`;
  return node.field === 'any' ? expression : `{${COLUMN_OF[node.field]}} : ${expression}`;
}

/** @returns the FTS5 expression of a node that is about text alone, else null. A negation needs something beside it. */
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

/** @param node null finds everything. */
export function compileSearch(sql: SqlStorage, node: SearchNode | null): Result<CompiledSearch, CompileError> {
  const conjuncts = node === null ? [] : node.kind === 'and' ? node.of : [node];
  const isText = (part: SearchNode) => toMatch(part) !== null;
  const isExcluded = (part: SearchNode) => part.kind === 'not' && isText(part.of);
  const texts = conjuncts.filter(isText);
  const excluded = conjuncts.filter(isExcluded);
  const rest = conjuncts.filter((part) => !isText(part) && !isExcluded(part));
  const match = texts.length === 0 ? null : toMatch({ kind: 'and', of: [...texts, ...excluded] });
  try {
    const conditions = rest.map((part) => toCondition(sql, part));
    if (node === null || !namesFolder(node)) conditions.push({ sql: 'm.is_visible = 1', values: [] });
    const drivers = rest.map((part) => toDriver(sql, part)).filter((driver) => driver !== null);
    const absent = match === null ? excluded.map((part) => (part.kind === 'not' ? toMatch(part.of) : null)) : [];
    return ok({ match, absent: absent.length === 0 ? null : absent.join(' OR '), conditions, drivers });
  } catch (error) {
    if (error instanceof UnknownFolder) return err({ kind: 'bad_request', path: 'q', message: error.message });
    throw error;
  }
}

function namesFolder(node: SearchNode): boolean {
  if (node.kind === 'and' || node.kind === 'or') return node.of.some(namesFolder);
  if (node.kind === 'not') return false;
  return node.kind === 'in';
}

function toCondition(sql: SqlStorage, node: SearchNode): Condition {
  switch (node.kind) {
    case 'text':
      return {
        sql: 'm.position IN (SELECT rowid FROM message_search WHERE message_search MATCH ?)',
        values: [toTextExpression(node)],
      };
    case 'and':
    case 'or': {
      const match = toMatch(node);
      if (match !== null) {
        return {
          sql: 'm.position IN (SELECT rowid FROM message_search WHERE message_search MATCH ?)',
          values: [match],
        };
      }
      const parts = node.of.map((part) => toCondition(sql, part));
      return {
        sql: `(${parts.map((part) => part.sql).join(node.kind === 'and' ? ' AND ' : ' OR ')})`,
        values: parts.flatMap((part) => part.values),
      };
    }
    case 'not': {
      const inner = toCondition(sql, node.of);
      return { sql: `NOT ${inner.sql.startsWith('(') ? inner.sql : `(${inner.sql})`}`, values: inner.values };
    }
    case 'in':
      return toFolderCondition(sql, node.folder, node.at);
    case 'label':
      return {
        sql: 'EXISTS (SELECT 1 FROM message_label AS l WHERE l.label = ? AND l.position = m.position)',
        values: [node.label],
      };
    case 'is':
      return { sql: FLAG_CONDITIONS[node.flag], values: [] };
    case 'has_attachment':
      return { sql: 'm.has_attachment = 1', values: [] };
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
} as const;

function resolveFolder(sql: SqlStorage, name: string, at: number): FolderRow {
  const folder = findFolder(sql, name.toLowerCase()) ?? findFolderByName(sql, name) ?? findFolder(sql, name);
  if (!folder) throw new UnknownFolder(`At character ${at + 1}: there is no folder "${name}".`);
  return folder;
}

function toFolderCondition(sql: SqlStorage, name: string, at: number): Condition {
  if (/^(?:any|anywhere)$/i.test(name)) return { sql: '1', values: [] };
  const folder = resolveFolder(sql, name, at);
  if (!isView(folder)) return { sql: 'm.folder = ?', values: [folder.folder] };
  const isAll = folder.role === 'all';
  return { sql: isAll ? '(m.is_visible = 1)' : '(m.is_flagged = 1 AND m.is_visible = 1)', values: [] };
}

/** Each `from` names the index, because SQLite has no statistics to choose by. */
function toDriver(sql: SqlStorage, node: SearchNode): Driver | null {
  const byIndex = (index: string, where: string, ...values: SqlStorageValue[]): Driver => ({
    from: `message AS m INDEXED BY ${index}`,
    where: { sql: where, values },
  });
  switch (node.kind) {
    case 'in': {
      if (/^(?:any|anywhere)$/i.test(node.folder)) return null;
      const folder = resolveFolder(sql, node.folder, node.at);
      return isView(folder) ? null : byIndex('message_folder', 'm.folder = ?', folder.folder);
    }
    case 'is':
      if (node.flag === 'flagged') return byIndex('message_flagged', 'm.is_flagged = 1');
      return node.flag === 'unread' ? byIndex('message_unread_all', 'm.is_read = 0') : null;
    case 'has_attachment':
      return byIndex('message_attachment', 'm.has_attachment = 1');
    case 'larger':
      return byIndex('message_size', 'm.size_bytes > ?', node.bytes);
    case 'smaller':
      return byIndex('message_size', 'm.size_bytes < ?', node.bytes);
    case 'before':
      return { from: 'message AS m', where: { sql: 'm.position < ?', values: [node.time * 1_000] } };
    case 'after':
      return { from: 'message AS m', where: { sql: 'm.position >= ?', values: [node.time * 1_000] } };
    case 'label':
      return {
        from: 'message_label AS d CROSS JOIN message AS m ON m.position = d.position',
        where: { sql: 'd.label = ?', values: [node.label] },
      };
    default:
      return null;
  }
}
