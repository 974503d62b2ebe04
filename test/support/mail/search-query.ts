/** Parses queries for tests, in a mailbox whose folders have their names as ids. */
import { parseSearch } from '../../../durable-objects/mail/domain/search-query.ts';
import type { EmailFilter } from '../../../workers/mail/domain/email-filter.ts';

const VIEWS: readonly string[] = ['all', 'flagged'];

export const readQuery = (query: string, now = 0) =>
  parseSearch(query, {
    now,
    findFolder: (name) => ({ folder_id: name, role: VIEWS.includes(name) ? name : null }),
  });

/** @returns the filter of a query, without the condition that the parser adds to a query that names no folder. */
export function parsedQuery(query: string, now = 0): EmailFilter | null {
  const result = readQuery(query, now);
  if (!result.ok) throw new Error(`${result.error.at}: ${result.error.message}`);
  const filter = result.value;
  if (filter?.kind !== 'and') return filter;
  const of = filter.of.filter(({ kind }) => kind !== 'visible');
  return of.length === 1 ? (of[0] ?? null) : { kind: 'and', of };
}
