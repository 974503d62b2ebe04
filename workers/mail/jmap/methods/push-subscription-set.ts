/** `PushSubscription/set` (RFC 8620 §7.2.2). */
import { randomBytes, randomUUID } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { isPublicUrl } from '../../../shared/settings/public-url.ts';
import { areKeys } from '../../push/web-push.ts';
import { toUtcDate } from '../objects/email.ts';
import { setArguments, utcDateSchema } from '../protocol/arguments.ts';
import { type Arguments, type Call, method, type SetError } from '../protocol/method.ts';
import { findSetError, invalidProperties, NOT_FOUND, runSet } from '../protocol/standard.ts';

const DAY_MS = 24 * 3_600_000;
const AGE_MAX_MS = 30 * DAY_MS;

const typesSchema = z.array(z.string().max(100)).max(100).nullable();
const newSchema = z.strictObject({
  deviceClientId: z.string().min(1).max(1_000),
  url: z.string(),
  keys: z.strictObject({ p256dh: z.string(), auth: z.string() }).refine(areKeys, 'must be keys of RFC 8291').nullish(),
  expires: utcDateSchema.nullish(),
  types: typesSchema.optional(),
});
const patchSchema = z.strictObject({
  verificationCode: z.string().max(200).nullish(),
  expires: utcDateSchema.nullish(),
  types: typesSchema.optional(),
});

export const pushSubscriptionSet = method({
  capability: 'core',
  schema: z.strictObject({ create: setArguments.create, update: setArguments.update, destroy: setArguments.destroy }),
  run: async (call, args) => {
    const all = { ...args, ifInState: null };
    const refusal = findSetError(all, '');
    if (refusal) return err(refusal);
    const outcome = await runSet(call, all, {
      create: (object) => create(call, object),
      update: (id, patch) => update(call, id, patch),
      destroy: async (id) => {
        const gone = await call.ask((mailbox) => mailbox.deletePushSubscription(call.user.credentialId, id));
        return gone.ok ? ok(null) : NOT_FOUND;
      },
    });
    const {
      accountId: _,
      oldState: __,
      newState: ___,
      ...answer
    } = outcome.toAnswer(call, { oldState: '', newState: '' });
    return ok(answer);
  },
});

async function create(call: Call, object: Arguments): Promise<Result<Arguments, SetError>> {
  const parsed = newSchema.safeParse(object);
  if (!parsed.success) return err(toInvalid(parsed.error));
  const { deviceClientId, url, keys = null, types = null, expires } = parsed.data;
  if (!isPublicUrl(call.env, url))
    return err(invalidProperties(['url'], 'An https address of a public host is needed.'));
  const expiresAt = limitAge(call, expires);
  const id = randomUUID();
  const code = randomBytes(24).toString('base64url');
  const subscription = { id, deviceClientId, url, keys, types, expiresAt, code, isVerified: false };
  const made = await call.ask((mailbox) => mailbox.insertPushSubscription(call.user.credentialId, subscription));
  if (!made.ok) return err({ type: made.error.code === 'too_many' ? 'overQuota' : 'serverFail' });
  return ok({ id, ...(keys === null ? { keys } : {}), expires: toUtcDate(expiresAt) });
}

async function update(call: Call, id: string, patch: Arguments): Promise<Result<Arguments | null, SetError>> {
  const parsed = patchSchema.safeParse(patch);
  if (!parsed.success) return err(toInvalid(parsed.error));
  const { verificationCode, expires, types } = parsed.data;
  const expiresAt = expires === undefined ? undefined : limitAge(call, expires);
  const change = {
    ...(verificationCode == null ? {} : { verificationCode }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(types === undefined ? {} : { types }),
  };
  const done = await call.ask((mailbox) => mailbox.updatePushSubscription(call.user.credentialId, id, change));
  if (!done.ok) return err({ type: 'serverFail' });
  if (done.value === 'not_found') return NOT_FOUND;
  if (done.value === 'wrong_code') return err(invalidProperties(['verificationCode']));
  const isChanged = expiresAt !== undefined && (expires == null || Date.parse(expires) !== expiresAt);
  return ok(isChanged ? { expires: toUtcDate(expiresAt) } : null);
}

/**
 * @returns the expiry of a subscription in milliseconds since 1970. It is limited to the maximum age and rounded down to a second.
 */
const limitAge = ({ now }: Call, expires: string | null | undefined): number =>
  Math.floor(Math.min(expires == null ? Number.POSITIVE_INFINITY : Date.parse(expires), now + AGE_MAX_MS) / 1000) *
  1000;

function toInvalid(error: z.ZodError): SetError {
  const [issue] = error.issues;
  return invalidProperties(
    issue?.code === 'unrecognized_keys' ? issue.keys : [String(issue?.path[0] ?? '')],
    issue?.message,
  );
}
