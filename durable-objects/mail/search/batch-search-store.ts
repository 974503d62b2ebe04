/** Changes all messages that a search finds, newest first, one round at a time. Each round runs in the caller's transaction. */

import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { FolderError } from '../contract/folders.ts';
import type { BatchPatch } from '../contract/messages.ts';
import type { BatchPlace, BatchRound, CompileError } from '../contract/search.ts';
import { first } from '../database/store.ts';
import { parseSearch } from '../domain/search-query.ts';
import { deleteMessages, patchMessages } from '../messages/batch-store.ts';
import { findNamedFolder } from '../messages/folder-store.ts';
import { compileSearch } from './search-sql.ts';
import { toQueryFault } from './search-store.ts';
import { walk } from './search-walk-store.ts';

/** Maximum of messages changed per transaction. */
const CHANGED_PER_ROUND = 250;
const ROUND_EFFORT = 4;

/**
 * Changes one round of the messages that a query finds. Each round continues where the last one ended. So a message that still
 * matches after its change is not changed twice.
 */
export function changeFound(
  sql: SqlStorage,
  query: string,
  place: BatchPlace | null,
  change: BatchPatch | 'delete',
  now: number,
): Result<BatchRound, CompileError | FolderError> {
  const parsed = parseSearch(query, { now, findFolder: (name) => findNamedFolder(sql, name) });
  if (!parsed.ok) return err(toQueryFault('query', parsed.error));
  if (parsed.value === null) return err({ kind: 'bad_request', path: 'query', message: 'The query has no term.' });
  const compiled = compileSearch(sql, parsed.value);
  const { oldest, newest } = readRange(sql);
  const { top, before } = place ?? { top: newest + 1, before: newest + 1 };
  const found = walk(sql, compiled, before, CHANGED_PER_ROUND, ROUND_EFFORT);
  const ids = listIds(sql, found.positions);
  const results = change === 'delete' ? ok(deleteMessages(sql, ids, now)) : patchMessages(sql, ids, change, now);
  if (!results.ok) return results;
  const { floor } = found;
  return ok({
    results: results.value,
    next: floor === null ? null : { top, before: floor },
    progress: floor === null ? 1 : Math.min(1, (top - floor) / Math.max(1, top - oldest)),
  });
}

const readRange = (sql: SqlStorage) =>
  first<{ oldest: number; newest: number }>(
    sql,
    'SELECT ifnull((SELECT min(position) FROM message), 0) AS oldest, ifnull((SELECT max(position) FROM message), 0) AS newest',
  ) ?? { oldest: 0, newest: 0 };

const listIds = (sql: SqlStorage, positions: readonly number[]): string[] =>
  [
    ...sql.exec<{ id: string }>(
      'SELECT m.message_id AS id FROM json_each(?) AS j CROSS JOIN message AS m ON m.position = j.value ORDER BY j.key',
      JSON.stringify(positions),
    ),
  ].map(({ id }) => id);
