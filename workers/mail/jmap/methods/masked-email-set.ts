/** `MaskedEmail/set` (https://www.fastmail.com/developer/maskedemail). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { changeMasked, createMasked } from '../../accounts/masked-addresses.ts';
import { listMasked } from '../../store/masked-store.ts';
import {
  type MaskedEmail,
  maskedCreateSchema,
  maskedPatchSchema,
  toMaskedEmail,
  toMaskedState,
} from '../objects/masked-email.ts';
import { setArguments } from '../protocol/arguments.ts';
import { type Arguments, type Call, method, type SetError } from '../protocol/method.ts';
import { findSetError, invalidProperties, NOT_FOUND, runSet } from '../protocol/standard.ts';

export const maskedEmailSet = method({
  capability: 'masked',
  schema: z.strictObject(setArguments),
  run: async (call, args) => {
    const before = await read(call);
    const oldState = toMaskedState(before);
    const refusal = findSetError(args, oldState);
    if (refusal) return err(refusal);
    const find = (id: string) => before.find((each) => each.id === id);
    const outcome = await runSet(call, args, {
      create: (object) => create(call, object),
      update: (id, patch) => update(call, find(id), patch),
      destroy: async (id) => (find(id) ? err(NOT_DESTROYED) : NOT_FOUND),
    });
    return ok(outcome.toAnswer(call, { oldState, newState: toMaskedState(await read(call)) }));
  },
});

const read = async (call: Call): Promise<MaskedEmail[]> =>
  (await listMasked(call.env, call.user.userId)).map(toMaskedEmail);

/** An address is never issued again, so its record stays, and it can be opened again. */
const NOT_DESTROYED: SetError = { type: 'forbidden', description: 'Set its state to deleted.' };

async function create(call: Call, object: Arguments): Promise<Result<Arguments, SetError>> {
  const parsed = maskedCreateSchema.safeParse(object);
  if (!parsed.success) return err(toInvalid(parsed.error));
  const { description: note, emailPrefix: prefix, ...rest } = parsed.data;
  const made = await createMasked(call.env, call.user, { ...rest, note, prefix });
  if (made.ok) return ok(toMaskedEmail(made.value));
  return err(
    made.error.kind === 'too_many'
      ? { type: 'overQuota', description: `An account has at most ${made.error.max} masked addresses.` }
      : { type: 'serverFail', description: 'The domain of the account is not hosted here.' },
  );
}

async function update(
  call: Call,
  found: MaskedEmail | undefined,
  patch: Arguments,
): Promise<Result<Arguments | null, SetError>> {
  if (!found) return NOT_FOUND;
  // Clients may send properties that they cannot change, with the value that they have (RFC 8620 §5.3).
  const changed = Object.fromEntries(Object.entries(patch).filter(([name, value]) => found[name] !== value));
  const parsed = maskedPatchSchema.safeParse(changed);
  if (!parsed.success) return err(toInvalid(parsed.error));
  const { description: note, ...rest } = parsed.data;
  const given = Object.entries({ ...rest, note }).filter(([, value]) => value !== undefined);
  const done = await changeMasked(call.env, call.user.userId, found.email, Object.fromEntries(given));
  return done ? ok(null) : NOT_FOUND;
}

function toInvalid({ issues: [issue] }: z.ZodError): SetError {
  const names = issue?.code === 'unrecognized_keys' ? issue.keys : [String(issue?.path[0] ?? '')];
  return invalidProperties(names, issue?.message);
}
