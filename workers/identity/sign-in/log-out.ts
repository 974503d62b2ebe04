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
 * Ends the sessions of the account that a log-out token names.
 * @returns the rows of the account, whose check is due now.
 */
export async function logOut(env: Env, token: string, now: number): Promise<Result<readonly SignInRow[], Problem>> {
  const subject = await readLogOut(env, token, now);
  if (!subject.ok) return subject;
  if (subject.value === null) return ok([]);
  const store = createSignInStore(env.DIRECTORY);
  const rows = await store.listOfSubject(settingsOf(env).OIDC_ISSUER, subject.value);
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
  return store.listOfSubject(settingsOf(env).OIDC_ISSUER, subject.value).then(ok);
}

/** Validates a log-out token (§2.6). @returns the subject that it names; null for an unknown session. */
async function readLogOut(env: Env, token: string, now: number): Promise<Result<string | null, Problem>> {
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
  if (!(await takeId(env, jti, now))) return err(REFUSED);
  if (typeof sub === 'string') return ok(sub);
  return ok(await createProviderSessionStore(env.DIRECTORY).findSubject(server.issuer, String(sid), now));
}

/** Notes the id of a log-out token. @returns false if it was accepted before. */
async function takeId(env: Env, jti: string, now: number): Promise<boolean> {
  const secretSha256 = hashSecret('provider_log_out', jti);
  const row = { secretSha256, purpose: 'provider_log_out', userId: null, detail: null, expiresAt: now + USED_AGE_MS };
  return createRecoveryStore(env.DIRECTORY).insertSecret(row);
}
