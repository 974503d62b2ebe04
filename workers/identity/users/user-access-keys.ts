/** Access keys that users manage themselves. */
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { databaseNumberOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { publishRevocations } from '../revocations.ts';
import { mintAccessKeyId, mintSecretAccessKey } from '../secrets/credentials.ts';
import { sealSecret } from '../secrets/secrets.ts';
import { type AccessKeyRow, createAccessKeyStore } from '../store/access-key-store.ts';

export type { AccessKeyRow } from '../store/access-key-store.ts';

export interface NewAccessKey extends AccessKeyRow {
  /** The secret of the new key. It is stored encrypted and never shown again. */
  readonly secretAccessKey: string;
}

const KEYS_PER_USER_MAX = 20;

/** A session of a user, who makes keys. */
interface Maker {
  readonly userId: string;
  readonly session: string;
}

function mintKey(env: Env, { userId, session }: Maker, expiresAt: number | null, now: number) {
  const accessKeyId = mintAccessKeyId(databaseNumberOf(userId));
  const secretAccessKey = mintSecretAccessKey();
  const row: AccessKeyRow = { accessKeyId, userId, createdAt: now, expiresAt, lastUsedAt: null };
  const stored = {
    ...row,
    madeIn: session,
    secretSealed: sealSecret(secretAccessKey, `access-key:${accessKeyId}`, env),
  };
  return { stored, shown: { ...row, secretAccessKey } };
}

/** Creates an access key for a user. @returns 409 if the user has 20 valid keys. */
export async function createUserAccessKey(
  env: Env,
  maker: Maker,
  expiresAt: number | null,
  now: number,
  toAudit: (accessKeyId: string) => AuditRow,
): Promise<Result<NewAccessKey, Problem>> {
  const { stored, shown } = mintKey(env, maker, expiresAt, now);
  const audit = toAudit(stored.accessKeyId);
  if (await createAccessKeyStore(userDatabaseOf(env, maker.userId)).insertUpTo(KEYS_PER_USER_MAX, stored, audit))
    return ok(shown);
  return err(problem(409, 'too_many', `A user has at most ${KEYS_PER_USER_MAX} access keys. Delete one first.`));
}

export const listUserAccessKeys = (env: Env, userId: string, after: string, limit: number): Promise<AccessKeyRow[]> =>
  createAccessKeyStore(userDatabaseOf(env, userId)).list(userId, after, limit);

/**
 * Creates an access key that replaces another one. The old key works until `endsAt`, so that programs can switch to the new one.
 * @returns null if the user has no such valid key.
 */
export async function rotateUserAccessKey(
  env: Env,
  maker: Maker,
  before: { readonly accessKeyId: string; readonly endsAt: number },
  expiresAt: number | null,
  now: number,
  toAudit: (accessKeyId: string) => AuditRow,
): Promise<NewAccessKey | null> {
  const { userId } = maker;
  const { stored, shown } = mintKey(env, maker, expiresAt, now);
  const isDone = await createAccessKeyStore(userDatabaseOf(env, userId)).replace(
    before,
    stored,
    toAudit(stored.accessKeyId),
  );
  await publishRevocations(env, [databaseNumberOf(userId)]);
  return isDone ? shown : null;
}

/** Deletes an access key of a user. @returns false if the user has no such key. */
export async function deleteUserAccessKey(
  env: Env,
  userId: string,
  accessKeyId: string,
  audit: AuditRow,
): Promise<boolean> {
  const isGone = await createAccessKeyStore(userDatabaseOf(env, userId)).delete(userId, accessKeyId, audit);
  await publishRevocations(env, [databaseNumberOf(userId)]);
  return isGone;
}
