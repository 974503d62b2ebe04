/** `VacationResponse/get` (RFC 8621 §8.1). */
import { z } from '@hono/zod-openapi';
import { err } from '../../../shared/pure/result.ts';
import { toVacationResponse, VACATION_PROPERTIES } from '../objects/vacation.ts';
import { getArguments } from '../protocol/arguments.ts';
import { method, toMethodError } from '../protocol/method.ts';
import { answerGet } from '../protocol/standard.ts';

export const vacationResponseGet = method({
  capability: 'vacation',
  schema: z.strictObject(getArguments),
  run: async (call, args) => {
    const profile = await call.ask((mailbox) => mailbox.readProfile());
    if (!profile.ok) return err(toMethodError(profile.error));
    const { state, settings } = profile.value;
    const objects = [toVacationResponse(settings.vacation)];
    return answerGet(call, args, { state, objects, known: VACATION_PROPERTIES });
  },
});
