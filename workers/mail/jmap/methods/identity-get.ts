/** `Identity/get` (RFC 8621 §6.1). */
import { z } from '@hono/zod-openapi';
import { IDENTITY_PROPERTIES, readIdentities } from '../objects/identity.ts';
import { getArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { answerGet } from '../protocol/standard.ts';

export const identityGet = method({
  capability: 'submission',
  schema: z.strictObject(getArguments),
  run: async (call, args) => {
    const read = await readIdentities(call);
    if (!read.ok) return read;
    const { state, list } = read.value;
    return answerGet(call, args, { state, objects: list, known: IDENTITY_PROPERTIES });
  },
});
