/** `VacationResponse/set` (RFC 8621 §8.2). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { userDatabaseOf } from '../../../shared/stores/directories.ts';
import { createAccountStore } from '../../store/account-store.ts';
import { toVacationSettings, VACATION_ID, vacationPatchSchema } from '../objects/vacation.ts';
import { setArguments } from '../protocol/arguments.ts';
import { type Arguments, type Call, method, type SetError, toMethodError } from '../protocol/method.ts';
import { findSetError, invalidProperties, NOT_FOUND, runSet, SINGLETON } from '../protocol/standard.ts';

export const vacationResponseSet = method({
  capability: 'vacation',
  schema: z.strictObject(setArguments),
  run: async (call, args) => {
    const before = await call.ask((mailbox) => mailbox.readProfile());
    if (!before.ok) return err(toMethodError(before.error));
    const refusal = findSetError(args, before.value.state);
    if (refusal) return err(refusal);
    const outcome = await runSet(call, args, {
      create: async () => SINGLETON,
      update: (id, patch) => update(call, id, patch),
      destroy: async () => SINGLETON,
    });
    const after = await call.ask((mailbox) => mailbox.readProfile());
    if (!after.ok) return err(toMethodError(after.error));
    return ok(outcome.toAnswer(call, { oldState: before.value.state, newState: after.value.state }));
  },
});

async function update(call: Call, id: string, patch: Arguments): Promise<Result<Arguments | null, SetError>> {
  if (id !== VACATION_ID) return NOT_FOUND;
  const parsed = vacationPatchSchema.safeParse(patch);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const names = issue?.code === 'unrecognized_keys' ? issue.keys : [String(issue?.path[0] ?? '')];
    return err(invalidProperties(names, issue?.message));
  }
  const [profile, addresses] = await Promise.all([
    call.ask((mailbox) => mailbox.readProfile()),
    createAccountStore(userDatabaseOf(call.env, call.user.userId)).listAddresses(call.user.userId),
  ]);
  if (!profile.ok) return err({ type: 'serverFail' });
  const vacation = toVacationSettings(profile.value.settings.vacation, parsed.data, addresses);
  if (vacation.startsAt !== null && vacation.endsAt !== null && vacation.endsAt <= vacation.startsAt)
    return err(invalidProperties(['toDate'], 'The end must be after the start.'));
  const written = await call.ask((mailbox) => mailbox.writeSettings({ vacation }));
  if (!written.ok) return err({ type: 'serverFail' });
  const isCleaned = parsed.data.htmlBody != null && parsed.data.htmlBody !== vacation.htmlBody;
  return ok(isCleaned ? { htmlBody: vacation.htmlBody } : null);
}
