/**
 * Checks bound accounts with their refresh tokens, every `OIDC_RECHECK_MINUTES`. If the provider refuses the token, or gave none,
 * the account's sessions end, its app tokens and access keys stop, and its operator loses the role, until the next sign-in.
 *
 * A provider that does not answer is asked again every five minutes. After a day without an answer, the account stops too.
 */

import type { TokenEndpointResponse } from 'oauth4webapi';
import { runInParallel } from '../../shared/concurrency/parallel.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { readGroups } from '../domain/provider-claims.ts';
import { openSecret } from '../secrets/secrets.ts';
import { createSignInCheckStore, createSignInStore, type SignInRow } from '../store/sign-in-store.ts';
import { pauseUser, resumeUser } from '../users/suspensions.ts';
import { toProofOfTokens } from './code-flow.ts';
import { openProvider, type Provider } from './provider.ts';
import { applyGroups, endProviderOperator } from './provider-operators.ts';
import { refreshContextOf, toConfirmed } from './sign-ins.ts';

/** Accounts that a minute checks. The next minute checks the rest. */
const CHECKS_PER_RUN_MAX = 200;
const CHECKS_AT_ONCE = 5;
/** Time for which no other request checks an account. It is also the time until a check is repeated that got no answer. */
const CHECK_LEASE_MS = 5 * 60_000;
const SILENCE_MS_MAX = 24 * 3_600_000;

/** Errors of the token endpoint that say that the account or its grant ended (RFC 6749 §5.2, OpenID Connect Core §3.1.2.6). */
const ENDED = ['invalid_grant', 'access_denied', 'login_required', 'interaction_required', 'consent_required'];

/** Checks the accounts that are due. */
export async function recheckSignIns(env: Env, now: number): Promise<void> {
  const due = await createSignInCheckStore(env.DIRECTORY).listDue(now, CHECKS_PER_RUN_MAX);
  await runInParallel(due, CHECKS_AT_ONCE, (row) =>
    recheck(env, row, now).catch((error: unknown) => logError('sign_in_check_failed', error)),
  );
}

/** Checks an account now, unless another request checks it. */
export async function recheck(env: Env, row: SignInRow, now: number): Promise<void> {
  const store = createSignInCheckStore(env.DIRECTORY);
  if (!(await store.lease(row, now + CHECK_LEASE_MS))) return;
  const outcome = await askProvider(env, row, now);
  if (outcome.ok) {
    const confirmed = toConfirmed(env, row, outcome.value.refreshToken, now);
    await store.updateUnless(row, confirmed);
    const { groups } = outcome.value;
    if (row.kind === 'operator' && groups !== null) await applyGroups(env, row, groups, now);
    return;
  }
  const isSilent = (row.confirmedAt ?? row.createdAt) <= now - SILENCE_MS_MAX;
  if (outcome.error === 'ended' || isSilent) await endAccount(env, row, now);
}

/** Stops what an account may do, unless it signed in meanwhile, or a later check got a new refresh token. */
async function endAccount(env: Env, row: SignInRow, now: number): Promise<void> {
  const store = createSignInStore(env.DIRECTORY);
  const checks = createSignInCheckStore(env.DIRECTORY);
  const isNewer = async () => {
    const found = await store.find(row);
    const isRenewed = Boolean(found?.refreshSealed) && found?.refreshSealed !== row.refreshSealed;
    return isRenewed || found?.lastUsedAt !== row.lastUsedAt;
  };
  if (await isNewer()) return;
  if (row.kind === 'operator') return endProviderOperator(env, row, now);
  if (!(await checks.hasAnother(row))) await pauseUser(env, row.ownerId, now);
  await checks.updateUnless(row, { refreshSealed: null, checkAt: null });
  if (await isNewer()) await resumeUser(env, row.ownerId, now);
}

/** What a provider says of an account that it still has. Groups are null if it did not name the person again. */
interface Confirmed {
  readonly refreshToken: string;
  readonly groups: readonly string[] | null;
}
type Answer = Result<Confirmed, 'ended' | 'unavailable'>;

async function askProvider(env: Env, row: SignInRow, now: number): Promise<Answer> {
  // An account of Cloudflare Access has nothing to be checked with, nor has one whose provider gave no refresh token.
  if (row.refreshSealed === null) return err('ended');
  // A former provider cannot be asked. Its accounts stop after a day, which is the time to undo a wrong setting.
  if (row.issuer !== settingsOf(env).OIDC_ISSUER) return err('unavailable');
  const refreshToken = openSecret(row.refreshSealed, refreshContextOf(row), env);
  if (!refreshToken.ok) return err('ended');
  const provider = await openProvider(env, now);
  return provider.ok
    ? refresh(env, provider.value, row, { refreshToken: refreshToken.value, now })
    : err('unavailable');
}

async function refresh(
  env: Env,
  provider: Provider,
  row: SignInRow,
  { refreshToken, now }: { readonly refreshToken: string; readonly now: number },
): Promise<Answer> {
  const { library, server, client, authentication, options } = provider;
  try {
    const response = await library.refreshTokenGrantRequest(server, client, authentication, refreshToken, options());
    const tokens = await library.processRefreshTokenResponse(server, client, response);
    const newest = tokens.refresh_token ?? refreshToken;
    const groups = await readGroupsOf(env, provider, tokens, { row, now });
    return groups.ok ? ok({ refreshToken: newest, groups: groups.value }) : groups;
  } catch (error) {
    const code = error instanceof Error && 'error' in error ? String(error.error) : '';
    if (ENDED.includes(code)) return err('ended');
    logError('sign_in_check_failed', error, { reason: code });
    return err('unavailable');
  }
}

/**
 * Reads the groups of a person from the new ID token, which a provider may leave out (OpenID Connect Core §12.2), or from the userinfo
 * endpoint. Only operators need them.
 */
async function readGroupsOf(
  env: Env,
  provider: Provider,
  tokens: TokenEndpointResponse,
  { row, now }: { readonly row: SignInRow; readonly now: number },
): Promise<Result<readonly string[] | null, 'ended' | 'unavailable'>> {
  if (tokens.id_token !== undefined) {
    const proof = await toProofOfTokens(env, provider, tokens, now);
    if (!proof.ok) return err('unavailable');
    return proof.value.subject === row.subject ? ok(proof.value.groups) : err('ended');
  }
  const { library, server, client, options } = provider;
  if (row.kind === 'user' || server.userinfo_endpoint === undefined) return ok(null);
  const response = await library.userInfoRequest(server, client, tokens.access_token, options());
  const claims = await library.processUserInfoResponse(server, client, row.subject, response);
  return ok(readGroups(claims, settingsOf(env).OIDC_ROLE_CLAIM));
}
