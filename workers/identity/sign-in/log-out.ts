/**
 * Back-channel log-out (OpenID Connect Back-Channel Logout 1.0): the provider says that a person logged out, or that the account
 * ended. The person's sessions end at once. Whether the account ended shows its refresh token, which is checked then: app tokens of a
 * person who only logged out go on.
 */
import { recordSystemAudit } from '../../shared/audit/audit.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { hashSecret } from '../secrets/one-time-secrets.ts';
import { createOperatorStore } from '../store/operator-store.ts';
import { createRecoveryStore } from '../store/recovery-store.ts';
import { createProviderSessionStore, createSignInStore, type SignInRow } from '../store/sign-in-store.ts';
import { endCredentials } from '../users/obligations.ts';
import { openProvider, PROVIDER_UNAVAILABLE, verifyToken } from './provider.ts';

/** Age over which a log-out token is refused. Ids of accepted ones are kept longer, so that none is accepted twice. */
const TOKEN_AGE_SECONDS_MAX = 5 * 60;
const USED_AGE_MS = 15 * 60_000;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Back-Channel Logout §2.8: a token that is not valid is answered with 400. */
const REFUSED = problem(400, 'sign_in_failed', 'The log-out token is not valid.');

/**
 * Ends the sessions of the account that a log-out token names. The id of the token is noted last, so that the provider can send it again
 * if the ending failed.
 * @returns the rows of the account, whose check is due now.
 */
export async function logOut(env: Env, token: string, now: number): Promise<Result<readonly SignInRow[], Problem>> {
  const read = await readLogOut(env, token, now);
  if (!read.ok) return read;
  const { subject, idSha256 } = read.value;
  const rows = subject === null ? [] : await endSessionsOf(env, subject, now);
  const used = { secretSha256: idSha256, purpose: 'provider_log_out', userId: null, detail: null };
  await createRecoveryStore(env.DIRECTORY).insertSecret({ ...used, expiresAt: now + USED_AGE_MS });
  return ok(rows);
}

async function endSessionsOf(env: Env, subject: string, now: number): Promise<readonly SignInRow[]> {
  const store = createSignInStore(env.DIRECTORY);
  const rows = await store.listOfSubject(settingsOf(env).OIDC_ISSUER, subject);
  for (const row of rows) {
    // The schedule checks the account within a minute, if the check after this answer does not.
    const checkAt = row.checkAt === null ? null : now;
    await store.update(row, { checkAt });
    if (row.kind === 'user') await endCredentials(row.ownerId, { kind: 'session' }, env);
    else await createOperatorStore(env.DIRECTORY).deleteSessionsOf(row.ownerId);
    const target = { type: row.kind, id: row.ownerId } as const;
    const entry = { at: now, id: crypto.randomUUID(), action: 'sign_in.log_out', target, details: {} } as const;
    await recordSystemAudit(row.kind === 'user' ? userDatabaseOf(env, row.ownerId) : env.DIRECTORY, entry);
  }
  return store.listOfSubject(settingsOf(env).OIDC_ISSUER, subject);
}

interface LogOut {
  /** The account that the token names; null for an unknown session. */
  readonly subject: string | null;
  readonly idSha256: string;
}

/** Validates a log-out token (§2.6) that was not accepted before. */
async function readLogOut(env: Env, token: string, now: number): Promise<Result<LogOut, Problem>> {
  const provider = await openProvider(env, now);
  if (!provider.ok) return provider;
  const { server, client } = provider.value;
  const expected = { issuer: server.issuer, audience: client.client_id, now, ageSecondsMax: TOKEN_AGE_SECONDS_MAX };
  const verified = await verifyToken(provider.value, token, expected);
  if (!verified.ok) return err(verified.error === PROVIDER_UNAVAILABLE ? verified.error : REFUSED);
  const { sub, sid, jti, nonce, events } = verified.value;
  const isLogOut = typeof events === 'object' && events !== null && Object.hasOwn(events, EVENT);
  // With a nonce it could be an ID token (§2.4).
  if (!isLogOut || nonce !== undefined || typeof jti !== 'string' || jti === '') return err(REFUSED);
  if (typeof sub !== 'string' && typeof sid !== 'string') return err(REFUSED);
  const idSha256 = hashSecret('provider_log_out', jti);
  if ((await createRecoveryStore(env.DIRECTORY).findSecret([idSha256], now)) !== null) return err(REFUSED);
  if (typeof sub === 'string') return ok({ subject: sub, idSha256 });
  const subject = await createProviderSessionStore(env.DIRECTORY).findSubject(server.issuer, String(sid), now);
  return ok({ subject, idSha256 });
}
