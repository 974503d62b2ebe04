/** Compiles a JMAP query for messages to SQL. The alias of the message row is `m`. */
import type {
  EmailFilter,
  EmailQuery,
  EmailSort,
  KeywordTest,
  TextPlace,
} from '../../../workers/mail/domain/email-filter.ts';
import { splitPhrases } from '../../../workers/mail/domain/email-filter.ts';
import { toPhrase } from '../../../workers/mail/domain/search-text.ts';
import { findFolder } from '../messages/folder-store.ts';
import { toTextCondition } from '../search/search-sql.ts';

export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlStorageValue[];
}

export interface CompiledQuery {
  readonly from: string;
  readonly where: Condition;
  /** SQL column with the position. The query reads rows in its order. */
  readonly position: string;
  /** SQL for further columns to sort by, as `key0`, `key1` and so on. */
  readonly keys: string;
  /** The folder, if the query asks for all messages of one folder and nothing else; null for any other query. */
  readonly folder: number | null;
}

const NEVER: Condition = { sql: '0', values: [] };

/** The index that a query reads, in order of time. Conditions that it does not test are tested on each row. */
interface Driver {
  readonly from: string;
  readonly position: string;
  readonly where: readonly Condition[];
  /** Filters that the driver's `where` tests already. */
  readonly done: readonly EmailFilter[];
}

/** A folder with at most this many messages is always read by its own index, whatever else the query asks for. */
const SMALL_FOLDER_MAX = 500;

export function compileQuery(sql: SqlStorage, { filter, sort }: EmailQuery): CompiledQuery {
  const parts = filter?.kind === 'and' ? filter.of : filter ? [filter] : [];
  const place = findPlace(sql, parts);
  const driver = pickDriver(parts, place);
  const rest = parts.filter((part) => !driver.done.includes(part));
  const isTestedOnEach = driver.done.length > 0;
  const conditions = [
    ...driver.where,
    ...rest.map((part) => (part.kind === 'text' && isTestedOnEach ? compileText(part, 'one') : compile(sql, part))),
  ];
  const keys = sort.map((each, at) => `, ${toKey(each)} AS key${at}`).join('');
  return {
    from: driver.from,
    where: join(conditions, 'AND', '1'),
    position: driver.position,
    keys,
    folder: place !== null && parts.length === 1 ? place.folder : null,
  };
}

interface Place {
  readonly part: EmailFilter;
  readonly folder: number;
  readonly total: number;
}

function findPlace(sql: SqlStorage, parts: readonly EmailFilter[]): Place | null {
  const part = parts.find(({ kind }) => kind === 'in');
  const found = part?.kind === 'in' ? findFolder(sql, part.folderId) : null;
  return part && found ? { part, folder: found.folder, total: found.total } : null;
}

/** Picks the most selective index, as far as that is known without reading rows. */
function pickDriver(parts: readonly EmailFilter[], place: Place | null): Driver {
  const inFolder = place && {
    from: 'message_folder AS f CROSS JOIN message AS m ON m.position = f.position',
    position: 'f.position',
    where: [{ sql: 'f.folder = ?', values: [place.folder] }],
    done: [place.part],
  };
  if (inFolder && place.total <= SMALL_FOLDER_MAX) return inFolder;
  for (const part of parts) {
    if (part.kind !== 'keyword' || part.scope !== 'message') continue;
    const driver = toMarkDriver(part);
    if (driver) return driver;
  }
  const texts = parts.filter((part) => part.kind === 'text');
  const expressions = texts.map(({ text, place }) => toExpression(place, text));
  if (expressions.length > 0 && !expressions.includes(null))
    return {
      from: 'message_search AS s CROSS JOIN message AS m ON m.position = s.rowid',
      position: 's.rowid',
      where: [{ sql: 'message_search MATCH ?', values: [expressions.map((each) => `(${each})`).join(' AND ')] }],
      done: texts,
    };
  return inFolder ?? { from: 'message AS m', position: 'm.position', where: [], done: [] };
}

function toMarkDriver(part: Extract<EmailFilter, { kind: 'keyword' }>): Driver | null {
  if (part.test.kind === 'label')
    return {
      from: 'message_label AS d CROSS JOIN message AS m ON m.position = d.position',
      position: 'd.position',
      where: [{ sql: 'd.label = ?', values: [part.test.label] }],
      done: [part],
    };
  if (part.test.flag !== 'isFlagged') return null;
  return {
    from: 'message AS m INDEXED BY message_flagged',
    position: 'm.position',
    where: [{ sql: 'm.is_flagged = 1', values: [] }],
    done: [part],
  };
}

const join = (conditions: readonly Condition[], operator: 'AND' | 'OR', empty: string): Condition => ({
  sql: conditions.length === 0 ? empty : conditions.map((each) => `(${each.sql})`).join(` ${operator} `),
  values: conditions.flatMap((each) => each.values),
});

function compile(sql: SqlStorage, filter: EmailFilter): Condition {
  switch (filter.kind) {
    case 'and':
      return join(
        filter.of.map((part) => compile(sql, part)),
        'AND',
        '1',
      );
    case 'or':
      return join(
        filter.of.map((part) => compile(sql, part)),
        'OR',
        '0',
      );
    case 'none': {
      const any = join(
        filter.of.map((part) => compile(sql, part)),
        'OR',
        '0',
      );
      return { sql: `NOT (${any.sql})`, values: any.values };
    }
    case 'in': {
      const folder = findFolder(sql, filter.folderId);
      if (!folder) return NEVER;
      const test = 'EXISTS (SELECT 1 FROM message_folder AS p WHERE p.folder = ? AND p.position = m.position)';
      return { sql: test, values: [folder.folder] };
    }
    case 'in_other_than': {
      const folders = filter.folderIds.flatMap((id) => findFolder(sql, id)?.folder ?? []);
      const others = '(SELECT value FROM json_each(?))';
      return {
        sql: `m.folder NOT IN ${others} OR EXISTS (SELECT 1 FROM json_each(m.also_in) AS a WHERE a.value NOT IN ${others})`,
        values: [JSON.stringify(folders), JSON.stringify(folders)],
      };
    }
    case 'before':
      return { sql: 'm.received_at < ?', values: [filter.time] };
    case 'after':
      // No position is before the time of arrival. So a lower limit of positions ends the read without losing a match.
      return { sql: 'm.position >= ? AND m.received_at >= ?', values: [filter.time * 1_000, filter.time] };
    case 'min_size':
      return { sql: 'm.size_bytes >= ?', values: [filter.bytes] };
    case 'max_size':
      return { sql: 'm.size_bytes < ?', values: [filter.bytes] };
    case 'has_attachment':
      return { sql: `m.has_attachment = ${Number(filter.value)}`, values: [] };
    case 'keyword':
      return compileKeyword(filter.test, filter.scope);
    case 'header':
      return compileHeader(filter.name, filter.text);
    case 'text':
      return compileText(filter, 'all');
  }
}

const FLAG_COLUMNS = {
  isRead: 'is_read = 1',
  isFlagged: 'is_flagged = 1',
  isAnswered: 'is_answered = 1',
  isForwarded: 'is_forwarded = 1',
} as const;

const hasLabel = (message: string): string =>
  `EXISTS (SELECT 1 FROM message_label AS l WHERE l.label = ? AND l.position = ${message}.position)`;

function compileMark(test: KeywordTest, message: string): Condition {
  if (test.kind === 'label') return { sql: hasLabel(message), values: [test.label] };
  // A draft of the web app has the origin `draft`; a draft of a JMAP client has the label `$draft`.
  if (test.flag === 'isDraft')
    return { sql: `${message}.origin = 'draft' OR ${hasLabel(message)}`, values: ['$draft'] };
  return { sql: `${message}.${FLAG_COLUMNS[test.flag]}`, values: [] };
}

function compileKeyword(test: KeywordTest, scope: 'message' | 'all' | 'some' | 'none'): Condition {
  if (scope === 'message') return compileMark(test, 'm');
  const mark = compileMark(test, 't');
  const wanted = scope === 'all' ? `NOT (${mark.sql})` : `(${mark.sql})`;
  const exists = `EXISTS (SELECT 1 FROM message AS t WHERE t.thread = m.thread AND ${wanted})`;
  return { sql: scope === 'some' ? exists : `NOT ${exists}`, values: mark.values };
}

const compileHeader = (name: string, text: string | null): Condition => ({
  sql: `EXISTS (SELECT 1 FROM message_content AS c, json_each(c.headers) AS h WHERE c.position = m.position
    AND lower(json_extract(h.value, '$.name')) = ?${text === null ? '' : ` AND instr(lower(json_extract(h.value, '$.value')), ?) > 0`})`,
  values: text === null ? [name.toLowerCase()] : [name.toLowerCase(), text.toLowerCase()],
});

/** Columns of the full-text index, by the part of the message that a text filter names. */
const COLUMNS: Readonly<Record<Exclude<TextPlace, 'any'>, string>> = {
  from: 'sender',
  to: 'recipients',
  cc: 'copies',
  bcc: 'hidden',
  subject: 'subject',
  body: 'body',
};

/** @returns the FTS5 expression of a text filter; null if the text has no word. */
function toExpression(place: TextPlace, text: string): string | null {
  const expressions = splitPhrases(text).flatMap((phrase) => {
    const parts = toPhrase(phrase);
    if (parts.length === 0) return [];
    const quoted = `"${parts.map((part) => part.term).join(' ')}"${parts.at(-1)?.isPrefix ? '*' : ''}`;
    return [place === 'any' ? quoted : `{${COLUMNS[place]}} : ${quoted}`];
  });
  return expressions.length === 0 ? null : expressions.join(' AND ');
}

type TextFilter = Extract<EmailFilter, { kind: 'text' }>;

/** @param scope `one` looks each message up in the full-text index, `all` first reads all hits of the index. */
function compileText({ place, text }: TextFilter, scope: 'one' | 'all'): Condition {
  const expression = toExpression(place, text);
  if (expression === null) return NEVER;
  if (scope === 'one') return toTextCondition(expression, false, { kind: 'message' });
  const match = 'm.position IN (SELECT rowid FROM message_search WHERE message_search MATCH ?)';
  return { sql: match, values: [expression] };
}

/** SQL of the value that a message is sorted by. JavaScript compares texts, because SQLite folds case only in ASCII. */
function toKey({ by, keyword }: EmailSort): string {
  switch (by) {
    case 'receivedAt':
      return 'm.position';
    case 'sentAt':
      return 'ifnull(m.sent_at, m.received_at)';
    case 'size':
      return 'm.size_bytes';
    case 'from':
      return 'm.sender';
    case 'to':
      return `ifnull(json_extract(m.to_list, '$[0]'), 'null')`;
    case 'subject':
      return 'm.subject';
    case 'keyword':
      return keyword ? toKeywordKey(keyword) : '0';
  }
}

/** SQL of a keyword to sort by. The clause with the sort keys has no bound values, so a label is written as a literal. */
function toKeywordKey({ test, scope }: NonNullable<EmailSort['keyword']>): string {
  const { sql, values } = compileKeyword(test, scope);
  let at = 0;
  return `(${sql.replace(/\?/g, () => `'${String(values[at++]).replaceAll("'", "''")}'`)})`;
}
