/** `Email/query` (RFC 8621 §4.4). */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { readEmailQuery } from '../objects/email-query.ts';
import { queryArguments } from '../protocol/arguments.ts';
import { QUERY_LIMIT_MAX } from '../protocol/limits.ts';
import { type MethodError, method, toMethodError } from '../protocol/method.ts';
import { resolveId, toQueryAnswer } from '../protocol/standard.ts';

export const QUERY_FAILURES: Readonly<Record<string, MethodError>> = {
  anchor_not_found: { type: 'anchorNotFound' },
  too_many_to_sort: {
    type: 'unsupportedSort',
    description: 'Too many messages match. Sort by receivedAt, or narrow the filter.',
  },
};

export const emailQuery = method({
  capability: 'mail',
  schema: z.strictObject({ ...queryArguments, collapseThreads: z.boolean().default(false) }),
  run: async (call, args) => {
    const query = readEmailQuery(args);
    if (!query.ok) return query;
    const { position, anchorOffset, calculateTotal } = args;
    const limit = Math.min(args.limit ?? QUERY_LIMIT_MAX, QUERY_LIMIT_MAX);
    const anchor = args.anchor === null ? null : resolveId(call, args.anchor);
    const request = { ...query.value, position, anchor, anchorOffset, limit, calculateTotal };
    const read = await call.ask((mailbox) => mailbox.queryEmails(request));
    if (!read.ok) return err(toMethodError(read.error));
    const { state, found } = read.value;
    if (typeof found === 'string') return err(QUERY_FAILURES[found] ?? { type: 'serverFail' });
    const answer = toQueryAnswer(call, args, {
      queryState: state,
      canCalculateChanges: true,
      window: found,
      total: found.total,
    });
    return ok({ ...answer, collapseThreads: args.collapseThreads });
  },
});
