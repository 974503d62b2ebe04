/** `Quota/query` (RFC 9425 §4.4). */
import { z } from '@hono/zod-openapi';
import { findQuotas } from '../objects/quota.ts';
import { queryArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { answerQuery } from '../protocol/standard.ts';

export const quotaQuery = method({
  capability: 'quota',
  schema: z.strictObject(queryArguments),
  run: async (call, args) => {
    const found = await findQuotas(call, args);
    if (!found.ok) return found;
    return answerQuery(call, args, { queryState: found.value.state, ids: found.value.ids, canCalculateChanges: true });
  },
});
