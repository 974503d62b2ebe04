/** `Email/queryChanges` (RFC 8621 §4.5). */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { readEmailQuery } from '../objects/email-query.ts';
import { queryChangesArguments } from '../protocol/arguments.ts';
import { answerQueryChanges } from '../protocol/changes.ts';
import { method, toMethodError } from '../protocol/method.ts';
import { QUERY_FAILURES } from './email-query.ts';

export const emailQueryChanges = method({
  capability: 'mail',
  schema: z.strictObject({ ...queryChangesArguments, collapseThreads: z.boolean().default(false) }),
  run: async (call, args) => {
    const query = readEmailQuery(args);
    if (!query.ok) return query;
    return answerQueryChanges(call, 'Email', args, async (changed, threadIds) => {
      const all = { position: 0, anchor: null, anchorOffset: 0, limit: Number.MAX_SAFE_INTEGER, calculateTotal: false };
      const [read, mates] = await Promise.all([
        call.ask((mailbox) => mailbox.queryEmails({ ...query.value, ...all })),
        // A collapsed query shows one message per thread. A change of one may show or hide another one.
        call.ask((mailbox) => mailbox.listThreadMates(threadIds)),
      ]);
      if (!read.ok) return err(toMethodError(read.error));
      if (!mates.ok) return err(toMethodError(mates.error));
      const { found } = read.value;
      if (typeof found === 'string') return err(QUERY_FAILURES[found] ?? { type: 'serverFail' });
      return ok({ ids: found.ids, changed: [...new Set([...changed, ...mates.value])] });
    });
  },
});
