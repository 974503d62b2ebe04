/** `Quota/get` (RFC 9425 §4.2). */
import { z } from '@hono/zod-openapi';
import { QUOTA_PROPERTIES, readQuota } from '../objects/quota.ts';
import { getArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { answerGet } from '../protocol/standard.ts';

export const quotaGet = method({
  capability: 'quota',
  schema: z.strictObject(getArguments),
  run: async (call, args) => {
    const read = await readQuota(call);
    if (!read.ok) return read;
    return answerGet(call, args, { state: read.value.state, objects: [read.value.quota], known: QUOTA_PROPERTIES });
  },
});
