/** `MaskedEmail/get` (https://www.fastmail.com/developer/maskedemail). */
import { z } from '@hono/zod-openapi';
import { listMasked } from '../../store/masked-store.ts';
import { MASKED_PROPERTIES, toMaskedEmail, toMaskedState } from '../objects/masked-email.ts';
import { getArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { answerGet } from '../protocol/standard.ts';

export const maskedEmailGet = method({
  capability: 'masked',
  schema: z.strictObject(getArguments),
  run: async (call, args) => {
    const objects = (await listMasked(call.env, call.user.userId)).map(toMaskedEmail);
    return answerGet(call, args, { state: toMaskedState(objects), objects, known: MASKED_PROPERTIES });
  },
});
