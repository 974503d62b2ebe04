/** `EmailSubmission/set` (RFC 8621 §7.5). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type Identities, readIdentities } from '../objects/identity.ts';
import { sendEmail } from '../objects/send-email.ts';
import { DELAY_SECONDS_MAX } from '../objects/session.ts';
import { readSubmissions, toSubmission } from '../objects/submission.ts';
import { idSchema, setArguments } from '../protocol/arguments.ts';
import { type Arguments, type Call, method, type SetError, toMethodError } from '../protocol/method.ts';
import { findSetError, invalidProperties, NOT_FOUND, resolveId, runSet } from '../protocol/standard.ts';

const parametersSchema = z.record(z.string(), z.string().nullable()).nullish();
const addressSchema = z.strictObject({ email: z.string().max(1_000), parameters: parametersSchema });
const newSubmissionSchema = z.strictObject({
  /** Set by the server (RFC 8621 §7), but meli gives it. It is ignored. */
  undoStatus: z.enum(['pending', 'final']).nullish(),
  identityId: idSchema,
  emailId: idSchema,
  envelope: z.strictObject({ mailFrom: addressSchema, rcptTo: z.array(addressSchema).max(10_000) }).nullish(),
});

export const emailSubmissionSet = method({
  capability: 'submission',
  schema: z.strictObject({
    ...setArguments,
    onSuccessUpdateEmail: z.record(z.string(), z.record(z.string(), z.unknown())).nullable().default(null),
    onSuccessDestroyEmail: z.array(idSchema).nullable().default(null),
  }),
  run: async (call, args) => {
    const [before, identities, profile] = await Promise.all([
      readSubmissions(call, []),
      readIdentities(call),
      call.ask((mailbox) => mailbox.readProfile()),
    ]);
    if (!before.ok) return before;
    if (!identities.ok) return identities;
    if (!profile.ok) return err(toMethodError(profile.error));
    const refusal = findSetError(args, before.value.state);
    if (refusal) return err(refusal);
    const emailIds = new Map<string, string>();
    const sender = { identities: identities.value, accountType: profile.value.accountType };
    const outcome = await runSet(call, args, {
      create: async (object, creationId) => {
        const made = await create(call, object, sender);
        if (made.ok) emailIds.set(`#${creationId}`, String(made.value.emailId));
        return made.ok ? ok(made.value.answer) : made;
      },
      update: async (id, patch) => {
        const done = await update(call, id, patch);
        if (done.ok) emailIds.set(id, done.value);
        return done.ok ? ok(null) : done;
      },
      destroy: (id) => destroy(call, id),
    });
    const after = await readSubmissions(call, []);
    if (!after.ok) return after;
    await updateEmails(call, args, emailIds);
    return ok(outcome.toAnswer(call, { oldState: before.value.state, newState: after.value.state }));
  },
});

async function create(
  call: Call,
  object: Arguments,
  { identities, accountType }: { identities: Identities; accountType: string },
): Promise<Result<{ emailId: string; answer: Arguments }, SetError>> {
  const parsed = newSubmissionSchema.safeParse(object);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const names = issue?.code === 'unrecognized_keys' ? issue.keys : [String(issue?.path[0] ?? '')];
    return err(invalidProperties(names, issue?.message));
  }
  const { envelope } = parsed.data;
  const identityId = resolveId(call, parsed.data.identityId);
  if (!identities.list.some(({ id }) => id === identityId))
    return err(invalidProperties(['identityId'], 'Unknown identity.'));
  const sendAt = readSendTime(envelope?.mailFrom.parameters ?? {}, call.now);
  if (sendAt === undefined) return err(invalidProperties(['envelope'], 'HOLDFOR or HOLDUNTIL is too far ahead.'));
  const emailId = resolveId(call, parsed.data.emailId);
  const sent = await sendEmail(call, {
    emailId,
    identityId,
    addresses: identities.addresses,
    accountType,
    envelope: envelope ? { from: envelope.mailFrom.email, to: envelope.rcptTo.map(({ email }) => email) } : null,
    sendAt,
  });
  if (!sent.ok) return sent;
  const { identityId: _, emailId: __, ...serverSet } = toSubmission(sent.value);
  return ok({ emailId, answer: serverSet });
}

/**
 * Reads the delay of sending from HOLDFOR or HOLDUNTIL (RFC 4865).
 * @returns null to send now; undefined if the value is invalid or too far ahead.
 */
function readSendTime(parameters: Readonly<Record<string, string | null>>, now: number): number | null | undefined {
  const given = new Map(Object.entries(parameters).map(([name, value]) => [name.toUpperCase(), value ?? '']));
  const [seconds, until] = [given.get('HOLDFOR'), given.get('HOLDUNTIL')];
  if (seconds === undefined && until === undefined) return null;
  const time =
    seconds === undefined
      ? Date.parse(until ?? '')
      : /^\d{1,9}$/.test(seconds)
        ? now + Number(seconds) * 1000
        : Number.NaN;
  return time <= now + DELAY_SECONDS_MAX * 1000 ? time : undefined;
}

/** Cancels a submission. @returns the id of the message whose sending was canceled. */
async function update(call: Call, id: string, patch: Arguments): Promise<Result<string, SetError>> {
  const read = await readSubmissions(call, [id]);
  const submission = read.ok ? read.value.submissions[0] : undefined;
  if (!submission) return NOT_FOUND;
  const other = Object.keys(patch).find((name) => name !== 'undoStatus');
  if (other !== undefined) return err(invalidProperties([other], 'Only undoStatus can change.'));
  if (patch.undoStatus !== 'canceled') return err(invalidProperties(['undoStatus'], 'Only canceled can be set.'));
  const canceled = await call.ask((mailbox) => mailbox.cancelEmailSubmission(id));
  return canceled.ok && canceled.value ? ok(submission.emailId) : err({ type: 'cannotUnsend' });
}

/** Destroys the record of a submission. This does not cancel the sending (RFC 8621 §7.5). */
async function destroy(call: Call, id: string): Promise<Result<null, SetError>> {
  const gone = await call.ask((mailbox) => mailbox.forgetSubmission(id));
  return gone.ok ? ok(null) : NOT_FOUND;
}

/** Runs the implicit Email/set, with the changes for the submissions that succeeded. */
async function updateEmails(
  call: Call,
  {
    onSuccessUpdateEmail,
    onSuccessDestroyEmail,
  }: {
    readonly onSuccessUpdateEmail: Readonly<Record<string, Arguments>> | null;
    readonly onSuccessDestroyEmail: readonly string[] | null;
  },
  emailIds: ReadonlyMap<string, string>,
): Promise<void> {
  const updates = Object.entries(onSuccessUpdateEmail ?? {}).flatMap(([id, patch]) => {
    const emailId = emailIds.get(id);
    return emailId === undefined ? [] : [[emailId, patch] as const];
  });
  const destroys = (onSuccessDestroyEmail ?? []).flatMap((id) => emailIds.get(id) ?? []);
  if (updates.length + destroys.length === 0) return;
  await call.alsoRun('Email/set', {
    accountId: call.accountId,
    ...(updates.length > 0 ? { update: Object.fromEntries(updates) } : {}),
    ...(destroys.length > 0 ? { destroy: destroys } : {}),
  });
}
