/** Suspensions of users: by an operator, or by a check of the provider with which the user signs in. */

import { toSystemAuditRow } from '../../shared/audit/audit.ts';
import { problem } from '../../shared/json/problem.ts';
import { databaseNumberOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { publishRevocations } from '../revocations.ts';
import { createPauseStore } from '../store/sign-in-store.ts';
import { createIdentityStore } from '../store/store.ts';
import { endCredentials, setSuspended } from './obligations.ts';

export const SUSPENDED = problem(403, 'account_suspended', 'The operator suspended this account.');
export const SIGN_IN_AGAIN = problem(403, 'sign_in_again', 'Sign in again with the account of the provider.');

/** @returns why a user may not log in; null if the user is not suspended. */
export async function findSuspension(env: Env, userId: string) {
  const database = userDatabaseOf(env, userId);
  const user = await createIdentityStore(database).findUser(userId);
  if ((user?.suspendedAt ?? null) === null) return null;
  return (await createPauseStore(database).isPaused(userId)) ? SIGN_IN_AGAIN : SUSPENDED;
}

/**
 * Brings the suspension that products store in line with DIRECTORY. Operators may suspend and resume a user concurrently, so each
 * request reads DIRECTORY again after it has written to the mailbox, until both agree.
 */
export async function levelSuspension(userId: string, env: Env): Promise<void> {
  const store = createIdentityStore(userDatabaseOf(env, userId));
  const read = async () => (await store.findUser(userId))?.suspendedAt ?? null;
  for (let at = await read(), written: number | null | undefined; written !== at; at = await read()) {
    await setSuspended(userId, at, env);
    written = at;
  }
}

const toAudit = (action: 'sign_in.pause' | 'sign_in.resume', userId: string, now: number) =>
  toSystemAuditRow({ at: now, id: crypto.randomUUID(), action, target: { type: 'user', id: userId }, details: {} });

/** Suspends a user until the next sign-in, and ends the user's sessions. Does not change an operator's suspension. Idempotent. */
export async function pauseUser(env: Env, userId: string, now: number): Promise<void> {
  const store = createPauseStore(userDatabaseOf(env, userId));
  await store.pause(userId, now, toAudit('sign_in.pause', userId, now));
  await publishRevocations(env, [databaseNumberOf(userId)]);
  await levelSuspension(userId, env);
  await endCredentials(userId, { kind: 'session' }, env);
}

/** Lifts a suspension of `pauseUser`. */
export async function resumeUser(env: Env, userId: string, now: number): Promise<void> {
  const store = createPauseStore(userDatabaseOf(env, userId));
  await store.resume(userId, toAudit('sign_in.resume', userId, now));
  await levelSuspension(userId, env);
}
