/** `Quota/queryChanges` (RFC 9425 §4.5). */
import { z } from '@hono/zod-openapi';
import { ok } from '../../../shared/pure/result.ts';
import { findQuotas, QUOTA_ID } from '../objects/quota.ts';
import { queryChangesArguments } from '../protocol/arguments.ts';
import { answerQueryChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const quotaQueryChanges = method({
  capability: 'quota',
  schema: z.strictObject(queryChangesArguments),
  run: (call, args) =>
    answerQueryChanges(call, 'Quota', args, async (changed) => {
      const found = await findQuotas(call, args);
      return found.ok ? ok({ ...found.value, changed: changed.length > 0 ? [QUOTA_ID] : [] }) : found;
    }),
});
