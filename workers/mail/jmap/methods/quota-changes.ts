/** `Quota/changes` (RFC 9425 §4.3). */
import { z } from '@hono/zod-openapi';
import { QUOTA_ID } from '../objects/quota.ts';
import { changesArguments } from '../protocol/arguments.ts';
import { answerChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const quotaChanges = method({
  capability: 'quota',
  schema: z.strictObject(changesArguments),
  run: (call, args) =>
    answerChanges(call, 'Quota', args, ({ updated }) => ({
      updated: updated.length > 0 ? [QUOTA_ID] : [],
      updatedProperties: updated.length > 0 ? ['used'] : null,
    })),
});
