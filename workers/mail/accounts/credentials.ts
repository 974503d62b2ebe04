/**
 * Sessions and app tokens, stored in the mailbox of their user. Each function throws a `ProblemError` (503) if the mailbox cannot
 * be reached.
 */

import { randomUUID } from 'node:crypto';
import type { SessionRow } from '../../../durable-objects/mail/contract/credentials.ts';

import { findUserById, hashToken, mintKeptSecret } from '../../identity/index.ts';
import { refuseIfAnyLost } from '../../shared/collectors/owner-store.ts';
import { ProblemError, problem } from '../../shared/json/problem.ts';
import { databaseNumberOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { isUnreachable, type MailboxRpc, openMailbox } from '../bindings/mailbox.ts';
import { MAILBOX_UNAVAILABLE } from '../schemas/errors.ts';
import { createAccountStore } from '../store/account-store.ts';

export const SESSION_AGE_MAX_MS = 30 * 24 * 3_600_000;

export async function reachMailbox<T>(env: Env, userId: string, ask: (mailbox: MailboxRpc) => Promise<T>): Promise<T> {
  try {
    return await ask(openMailbox(env, userId));
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    throw new ProblemError(MAILBOX_UNAVAILABLE, error);
  }
}

interface NewCredential {
  readonly credentialId: string;
  readonly kind: 'session' | 'token';
  readonly userAgent: string | null;
  readonly expiresAt: number | null;
}

const CHANGED = problem(401, 'wrong_login', 'The password was changed.');
const DELETED = problem(401, 'invalid_credential', 'The account was deleted.');

/**
 * Stores a new credential.
 * @param isStillRight tells whether the caller's proof, such as the password, is still valid. It is called after the credential is
 * stored. A concurrent change of the password ends credentials after the change: it either ends this one too, or this call sees the
 * change.
 * @returns the secret, which is stored nowhere.
 * @throws ProblemError (401) if the proof is no longer valid, or the user was deleted.
 */
async function keepCredential(
  env: Env,
  userId: string,
  given: NewCredential,
  isStillRight = async (): Promise<boolean> => true,
): Promise<string> {
  const user = await findUserById(env, userId);
  if (user) {
    const secret = mintKeptSecret(given.kind, userId);
    const { userName, name, email } = user;
    await reachMailbox(env, userId, (mailbox) =>
      mailbox.insertCredential({ ...given, secretSha256: hashToken(secret) }, { userName, name, email }),
    );
    if (await findUserById(env, userId)) {
      if (await isStillRight()) return secret;
      await reachMailbox(env, userId, (mailbox) => mailbox.endCredentials({ only: given.credentialId }));
      throw new ProblemError(CHANGED, 'the password was changed');
    }
  }
  // If a login runs while the user is deleted, storing its credential may create the mailbox again. So it is erased again, but only
  // with a tombstone: the database may also be empty because it was lost.
  const [erased] = await createAccountStore(userDatabaseOf(env, userId)).listErased([userId]);
  if (erased === undefined) await refuseIfAnyLost(env, [databaseNumberOf(userId)]);
  else
    await reachMailbox(env, userId, async (mailbox) => {
      await mailbox.erase();
      await mailbox.endCredentials({});
    });
  throw new ProblemError(DELETED, 'the user was deleted');
}

export async function createSession(
  env: Env,
  userId: string,
  userAgent: string | null,
  now: number,
  isStillRight?: () => Promise<boolean>,
): Promise<{ readonly secret: string; readonly expiresAt: number }> {
  const expiresAt = now + SESSION_AGE_MAX_MS;
  const session = { credentialId: randomUUID(), kind: 'session', expiresAt } as const;
  const given = { ...session, userAgent: userAgent?.slice(0, 300) ?? null };
  const secret = await keepCredential(env, userId, given, isStillRight);
  return { secret, expiresAt };
}

export const keepToken = (env: Env, userId: string, tokenId: string, expiresAt: number | null): Promise<string> =>
  keepCredential(env, userId, { credentialId: tokenId, kind: 'token', userAgent: null, expiresAt });

/** Lists the user's sessions, newest first. */
export const listSessions = (env: Env, userId: string): Promise<SessionRow[]> =>
  reachMailbox(env, userId, (mailbox) => mailbox.listSessions());

/** Ends a session. @returns false if the user has no such session. */
export const endSession = async (env: Env, userId: string, sessionId: string): Promise<boolean> =>
  (await reachMailbox(env, userId, (mailbox) => mailbox.endCredentials({ only: sessionId, kind: 'session' }))) > 0;

/** Confirms a session: until `until`, its sensitive actions do not ask for the password again. */
export const confirmSession = (env: Env, userId: string, sessionId: string, until: number): Promise<void> =>
  reachMailbox(env, userId, (mailbox) => mailbox.confirmSession(sessionId, until));
