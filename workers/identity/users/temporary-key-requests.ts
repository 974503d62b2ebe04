/** Temporary keys by the JSON APIs: the operator's routes and those of users differ only in who may call them. */
import { z } from '@hono/zod-openapi';
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { databaseOf } from '../../shared/stores/directories.ts';
import { readSessionPolicy, toSessionPolicy } from '../domain/session-policy.ts';
import type { PolicyDocument } from '../principal.ts';
import { publishRevocations } from '../revocations.ts';
import { homeOfAccessKey } from '../secrets/credentials.ts';
import { mintTemporaryKey, TEMPORARY_SECONDS_MAX } from '../secrets/temporary-keys.ts';
import { endTemporary, findParentKey } from '../store/access-key-store.ts';

/** The body that asks for a temporary key: rights on a bucket, or a policy document, or neither for all rights of the access key. */
export const temporaryKeyMembers = {
  minutes: z
    .number()
    .int()
    .min(1)
    .max(TEMPORARY_SECONDS_MAX / 60)
    .default(60)
    .openapi({ description: 'Life of the temporary key. It ends with its access key, if that ends earlier.' }),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/)
    .optional()
    .openapi({ description: 'The only bucket that the temporary key opens.' }),
  prefix: z
    .string()
    .max(1_024)
    .optional()
    .openapi({ description: 'Only objects whose keys begin with it. Needs `bucket`.' }),
  actions: z
    .array(z.enum(['read', 'write']))
    .min(1)
    .max(2)
    .optional()
    .openapi({
      description:
        'Rights in `bucket`. `read`: read and list objects and versions. `write`: upload and delete objects. Default: read.',
    }),
  policy: z.record(z.string(), z.unknown()).optional().openapi({
    description: 'A policy document of at most 2,048 characters, instead of `bucket`, `prefix` and `actions`.',
  }),
};

export const temporaryKeySchema = z
  .object({
    access_key_id: z.string(),
    secret_access_key: z.string(),
    session_token: z.string().openapi({ description: 'Sent with each request as `x-amz-security-token`.' }),
    expires_at: z.string(),
  })
  .openapi('TemporaryKey');

export const endTemporaryQuerySchema = z.strictObject({
  made_before: z.iso
    .datetime({ offset: true })
    .optional()
    .openapi({ description: 'Keys made at this time or earlier end. Default: now.' }),
});

type Wish = z.infer<z.ZodObject<typeof temporaryKeyMembers>>;

export const NO_SUCH_KEY = problem(404, 'no_such_access_key', 'Access key not found.');
const invalid = (path: string, message: string) =>
  problem(400, 'invalid_request', 'The request is not valid.', { errors: [{ path, message }] });

/**
 * Makes a temporary key of an access key.
 * @param userId user who must own the access key; null for the operator. @param now milliseconds since 1970 UTC.
 * @returns 404 if there is no such valid key, 400 for a policy that is not valid.
 */
export async function makeTemporaryKey(
  env: Env,
  { accessKeyId, userId }: { readonly accessKeyId: string; readonly userId: string | null },
  wish: Wish,
  now: number,
): Promise<Result<z.infer<typeof temporaryKeySchema>, Problem>> {
  const policy = toPolicy(wish);
  if (!policy.ok) return policy;
  const parent = await findParentKey(databaseOf(env, homeOfAccessKey(accessKeyId)), accessKeyId);
  const isOwn = parent !== null && (userId === null || parent.userId === userId);
  if (!isOwn || (parent.expiresAt ?? Number.POSITIVE_INFINITY) <= now) return err(NO_SUCH_KEY);
  const expiresAt = Math.min(now + wish.minutes * 60_000, parent.expiresAt ?? Number.POSITIVE_INFINITY);
  const made = mintTemporaryKey({ parentKeyId: accessKeyId, madeAt: now, expiresAt, policy: policy.value }, env);
  return ok({
    access_key_id: made.accessKeyId,
    secret_access_key: made.secretAccessKey,
    session_token: made.sessionToken,
    expires_at: new Date(made.expiresAt).toISOString(),
  });
}

function toPolicy({ bucket, prefix, actions, policy }: Wish): Result<PolicyDocument | null, Problem> {
  if (policy !== undefined) {
    if (bucket !== undefined || prefix !== undefined || actions !== undefined) {
      return err(invalid('policy', 'Give either a policy, or bucket, prefix and actions.'));
    }
    const read = readSessionPolicy(policy);
    return read.ok ? read : err(invalid('policy', read.error));
  }
  if (bucket !== undefined) return ok(toSessionPolicy({ bucket, prefix: prefix ?? '', rights: actions ?? ['read'] }));
  if (prefix !== undefined) return err(invalid('prefix', 'Needs bucket.'));
  return actions === undefined ? ok(null) : err(invalid('actions', 'Needs bucket.'));
}

/**
 * Ends the temporary keys of an access key, everywhere before it returns.
 * @param before time at or before which the keys were made. @returns false if there is no such access key.
 */
export async function endTemporaryKeys(
  env: Env,
  { accessKeyId, userId }: { readonly accessKeyId: string; readonly userId: string | null },
  before: number,
  audit: AuditRow,
): Promise<boolean> {
  const home = homeOfAccessKey(accessKeyId);
  const isKnown = await endTemporary(databaseOf(env, home), { accessKeyId, userId }, before, audit);
  await publishRevocations(env, [home]);
  return isKnown;
}
