/** Finds users by id or email, and inserts and deletes them. */
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { err, type Result } from '../../shared/pure/result.ts';
import { possibleDatabasesOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { createIdentityStore, type UserConflict, type UserRow } from '../store/store.ts';

export const findUserById = (env: Env, userId: string): Promise<UserRow | null> =>
  createIdentityStore(userDatabaseOf(env, userId)).findUser(userId);

/**
 * Inserts a user whom an operator creates. An account that registers with the same email at the same time may be in another
 * database. Therefore each side inserts its own row, then looks for the other row, and deletes its own if there is one. At most one
 * row stays.
 */
export async function insertUser(env: Env, row: UserRow, audit: AuditRow): Promise<Result<null, UserConflict>> {
  const inserted = await createIdentityStore(env.DIRECTORY).insertUser(row, audit);
  if (!inserted.ok || row.email === null || !(await isEmailElsewhere(env, row.email, row.userId))) return inserted;
  await createIdentityStore(env.DIRECTORY).deleteUser(row.userId);
  return err('email_taken');
}

/** Whether a user outside the home database of this user has the email. */
export async function isEmailElsewhere(env: Env, email: string, userId: string): Promise<boolean> {
  const own = userDatabaseOf(env, userId);
  const others = possibleDatabasesOf(env, email).filter((database) => database !== own);
  return (await Promise.all(others.map((database) => createIdentityStore(database).findUserByEmail(email)))).some(
    (found) => found !== null,
  );
}

/** @returns the user with this email, which is in lower case; null if there is none. */
export async function findUserByEmail(env: Env, email: string): Promise<UserRow | null> {
  const places = possibleDatabasesOf(env, email.toLowerCase());
  const found = await Promise.all(places.map((database) => createIdentityStore(database).findUserByEmail(email)));
  return found.find((row) => row !== null) ?? null;
}

/** The `user_name` of a user that was created without one. */
export const inventUserName = (userId: string): string => userId;

export const forgetUser = (env: Env, userId: string): Promise<void> =>
  createIdentityStore(userDatabaseOf(env, userId)).deleteUser(userId);
