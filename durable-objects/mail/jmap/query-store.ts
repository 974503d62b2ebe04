/**
 * `Email/query` (RFC 8621 §4.4). A query sorted by time reads messages from an index until the window is full. A total, or another
 * sort, reads all matches. The total of a whole folder is its stored count instead.
 */

import type { EmailSort } from '../../../workers/mail/domain/email-filter.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import type { EmailQueryAnswer, EmailQueryRequest, QueryFailure } from '../contract/jmap.ts';
import { first, type Row } from '../database/store.ts';
import { toBaseSubject } from '../domain/base-subject.ts';
import { EMAIL_ID } from '../messages/email-id-store.ts';
import { readThreads } from './email-read-store.ts';
import { type CompiledQuery, compileQuery } from './query-sql-store.ts';

/** Maximum of matches that are sorted by anything but time. */
const SORTED_MAX = 50_000;

interface Hit extends Row {
  position: number;
  email_id: string;
  thread: number;
}

export function queryEmails(sql: SqlStorage, request: EmailQueryRequest): EmailQueryAnswer | QueryFailure {
  const compiled = compileQuery(sql, request);
  const hits = listHits(sql, compiled, request.sort);
  if (hits === null) return 'too_many_to_sort';
  const shown = request.collapseThreads ? collapse(hits) : hits;
  const { position, anchor, limit, calculateTotal } = request;
  const knownTotal = calculateTotal && !request.collapseThreads ? readFolderTotal(sql, compiled) : null;
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

const readFolderTotal = (sql: SqlStorage, { folder }: CompiledQuery): number | null =>
  folder === null
    ? null
    : (first<{ total: number }>(sql, 'SELECT total FROM folder WHERE folder = ?', folder)?.total ?? 0);

/** @returns the matches in order; null if they must be sorted and are too many. */
function listHits(sql: SqlStorage, compiled: CompiledQuery, sort: readonly EmailSort[]): Iterable<Hit> | null {
  const { from, where, position, keys } = compiled;
  const columns = `m.position, ${EMAIL_ID} AS email_id, m.thread`;
  const [only] = sort;
  if (only === undefined || only.by === 'receivedAt') {
    const order = only?.isAscending ? 'ASC' : 'DESC';
    return sql.exec<Hit>(
      `SELECT ${columns} FROM ${from} WHERE ${where.sql} ORDER BY ${position} ${order}`,
      ...where.values,
    );
  }
  const query = `SELECT ${columns}${keys} FROM ${from} WHERE ${where.sql} LIMIT ${SORTED_MAX + 1}`;
  const hits = [...sql.exec<Hit>(query, ...where.values)].map((hit) => ({
    hit,
    keys: sort.map((each, at) => toSortKey(each, hit[`key${at}`] ?? null)),
  }));
  if (hits.length > SORTED_MAX) return null;
  hits.sort((a, b) => compareKeys(sort, a.keys, b.keys) || b.hit.position - a.hit.position);
  return hits.map(({ hit }) => hit);
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
