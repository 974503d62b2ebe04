/**
 * `Email/query` (RFC 8621 §4.4). A query sorted by time reads messages from an index until the window is full. A total, or another
 * sort, reads all matches. The total of a whole folder is its stored count instead.
 */

import type { EmailSort } from '../../../workers/mail/domain/email-filter.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import type { EmailQueryAnswer, EmailQueryRequest, QueryFailure } from '../contract/jmap.ts';
import type { Row } from '../database/store.ts';
import { toBaseSubject } from '../domain/base-subject.ts';
import { EMAIL_ID } from '../messages/email-id-store.ts';
import { readHits } from '../search/search-read-store.ts';
import { type CompiledSearch, compileSearch, toKeywordCondition } from '../search/search-sql.ts';
import { readThreads } from './email-read-store.ts';

/** Maximum of matches that are sorted by anything but time. */
const SORTED_MAX = 50_000;

interface Hit extends Row {
  position: number;
  email_id: string;
  thread: number;
}

export function queryEmails(sql: SqlStorage, request: EmailQueryRequest): EmailQueryAnswer | QueryFailure {
  const compiled = compileSearch(sql, request.filter);
  const hits = listHits(sql, compiled, request.sort);
  if (hits === null) return 'too_many_to_sort';
  const shown = request.collapseThreads ? collapse(hits) : hits;
  const { position, anchor, limit, calculateTotal } = request;
  const knownTotal = request.collapseThreads ? null : compiled.total;
  const isOpenEnded = (calculateTotal && knownTotal === null) || position < 0 || anchor !== null;
  const ids: string[] = [];
  for (const hit of shown) {
    ids.push(hit.email_id);
    if (!isOpenEnded && ids.length >= position + limit) break;
  }
  const at = anchor === null ? (position < 0 ? ids.length + position : position) : ids.indexOf(anchor);
  if (anchor !== null && at < 0) return 'anchor_not_found';
  const start = Math.max(0, anchor === null ? at : at + request.anchorOffset);
  return {
    position: start,
    ids: ids.slice(start, start + limit),
    total: calculateTotal ? (knownTotal ?? ids.length) : null,
  };
}

/** @returns the matches in order; null if they must be sorted and are too many. */
function listHits(sql: SqlStorage, compiled: CompiledSearch, sort: readonly EmailSort[]): Iterable<Hit> | null {
  const [lead, ...further] = sort;
  const keys = sort.map((each, at) => `, ${toKeySql(each)} AS key${at}`).join('');
  const columns = `m.position, ${EMAIL_ID} AS email_id, m.thread`;
  if (lead === undefined || lead.by === 'receivedAt') {
    const order = lead?.isAscending ? 'ASC' : 'DESC';
    if (further.length === 0) return readHits<Hit>(sql, compiled, { columns, order });
    return sortTies(readHits<Hit>(sql, compiled, { columns: columns + keys, order }), sort);
  }
  const hits: Hit[] = [];
  for (const hit of readHits<Hit>(sql, compiled, { columns: columns + keys, order: 'DESC' }))
    if (hits.push(hit) > SORTED_MAX) return null;
  return sortHits(hits, sort);
}

/** SQL of the value that a message is sorted by. JavaScript compares texts, because SQLite folds case only in ASCII. */
function toKeySql({ by, keyword }: EmailSort): string {
  switch (by) {
    case 'receivedAt':
      return 'm.received_at';
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
  const { sql, values } = toKeywordCondition(test, scope);
  let at = 0;
  return `(${sql.replace(/\?/g, () => `'${String(values[at++]).replaceAll("'", "''")}'`)})`;
}

/** Sorts hits by all comparators. Hits that are equal in all of them stay in their order. */
function sortHits(hits: readonly Hit[], sort: readonly EmailSort[]): Hit[] {
  const keyed = hits.map((hit) => ({
    hit,
    keys: sort.map((each, at) => toSortKey(each, hit[`key${at}`] ?? null)),
  }));
  return keyed.toSorted((a, b) => compareKeys(sort, a.keys, b.keys)).map(({ hit }) => hit);
}

/**
 * Sorts hits that are in order of `receivedAt` by the further comparators, which matter among hits of the same time only. So a query
 * still ends as soon as its window is full.
 */
function* sortTies(hits: Iterable<Hit>, sort: readonly EmailSort[]): Generator<Hit> {
  let ties: Hit[] = [];
  for (const hit of hits) {
    if (ties[0] && ties[0].key0 !== hit.key0) {
      yield* sortHits(ties, sort);
      ties = [];
    }
    ties.push(hit);
  }
  yield* sortHits(ties, sort);
}

function toSortKey({ by }: EmailSort, value: SqlStorageValue): string | number {
  if (by === 'subject') return foldCase(toBaseSubject(String(value)).base);
  if (by !== 'from' && by !== 'to') return Number(value);
  const person = JSON.parse(String(value)) as MailAddress | null;
  return foldCase(person?.name || person?.email || '');
}

/** Folds case as RFC 5051 does, except for title case, which is rare. */
const foldCase = (text: string): string => text.normalize('NFKD').toUpperCase();

function compareKeys(
  sort: readonly EmailSort[],
  a: readonly (string | number)[],
  b: readonly (string | number)[],
): number {
  for (const [at, { isAscending }] of sort.entries()) {
    const [left = 0, right = 0] = [a[at], b[at]];
    if (left !== right) return left < right === isAscending ? -1 : 1;
  }
  return 0;
}

/** Keeps only the first match of each thread. */
function* collapse(hits: Iterable<Hit>): Generator<Hit> {
  const seen = new Set<number>();
  for (const hit of hits) {
    if (seen.has(hit.thread)) continue;
    seen.add(hit.thread);
    yield hit;
  }
}

/** @returns the email ids of all messages in the threads. When one of them changes, a collapsed query may show or hide others. */
export const listThreadMates = (sql: SqlStorage, threadIds: readonly string[]): string[] =>
  readThreads(sql, threadIds).flatMap(({ emailIds }) => emailIds);
