/** `Email/queryChanges` (RFC 8621 §4.5). */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import type { EmailFilter } from '../../domain/email-filter.ts';
import { readEmailQuery } from '../objects/email-query.ts';
import { queryChangesArguments } from '../protocol/arguments.ts';
import { answerQueryChanges } from '../protocol/changes.ts';
import { type MethodError, method, toMethodError } from '../protocol/method.ts';
import { QUERY_FAILURES } from './email-query.ts';

export const emailQueryChanges = method({
  capability: 'mail',
  schema: z.strictObject({ ...queryChangesArguments, collapseThreads: z.boolean().default(false) }),
  run: async (call, args) => {
    const query = readEmailQuery(args);
    if (!query.ok) return query;
    const findIds = async (changed: readonly string[], threadIds: readonly string[]) => {
      const all = { position: 0, anchor: null, anchorOffset: 0, limit: Number.MAX_SAFE_INTEGER, calculateTotal: false };
      const [read, mates] = await Promise.all([
        call.ask((mailbox) => mailbox.queryEmails({ ...query.value, ...all })),
        // A collapsed query shows one message per thread. A change of one may show or hide another one.
        call.ask((mailbox) => mailbox.listThreadMates(threadIds)),
      ]);
      if (!read.ok) return err(toMethodError(read.error));
      if (!mates.ok) return err(toMethodError(mates.error));
      const { found, state } = read.value;
      if (typeof found === 'string') return err<MethodError>(QUERY_FAILURES[found] ?? { type: 'serverFail' });
      return ok({ state, ids: found.ids, changed: [...new Set([...changed, ...mates.value])] });
    };
    return answerQueryChanges(call, 'Email', { ...args, folderId: findFolderOf(query.value.filter) }, findIds);
  },
});

/** @returns the folder that every match of the filter is in; null if the filter does not name one. */
function findFolderOf(filter: EmailFilter | null): string | null {
  const parts = filter?.kind === 'and' ? filter.of : [];
  for (const part of parts) {
    const found = part.kind === 'in' ? part.folderId : findFolderOf(part);
    if (found !== null) return found;
  }
  return null;
}
