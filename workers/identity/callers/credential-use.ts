/** Records the last use of access keys and tokens, at most once per hour and credential. The answer never waits for it. */
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { logError } from '../../shared/telemetry/log.ts';
import type { Principal } from '../principal.ts';
import { createAccessKeyStore, USE_INTERVAL_MS } from '../store/access-key-store.ts';

/**
 * Times at which this isolate last began to record the use of a credential, by credential, so that concurrent requests do not all
 * write. A write whose request was cancelled is repeated after `RETRY_MS`.
 */
const begunAt = new Map<string, number>();
const RETRY_MS = 60_000;
const CREDENTIALS_MAX = 1_000;

/** Records the use of the caller's credential in the background. @param waitUntil keeps the write alive after the answer. */
export function recordUse(
  env: Env,
  principal: Principal | null,
  now: number,
  waitUntil: (work: Promise<unknown>) => void,
): void {
  if (principal === null || principal.kind === 'root' || principal.kind === 'operator') return;
  if (principal.kind === 'user' && principal.via === 'session') return;
  const [kind, id] =
    principal.kind === 'service'
      ? (['token', principal.tokenId] as const)
      : ([principal.via === 'access_key' ? 'access_key' : 'token', principal.credentialId] as const);
  const { lastUsedAt } = principal;
  if (lastUsedAt !== null && lastUsedAt > now - USE_INTERVAL_MS) return;
  if ((begunAt.get(id) ?? 0) > now - RETRY_MS) return;
  if (begunAt.size >= CREDENTIALS_MAX) begunAt.clear();
  begunAt.set(id, now);
  const store = createAccessKeyStore(principal.kind === 'user' ? userDatabaseOf(env, principal.userId) : env.DIRECTORY);
  waitUntil(store.recordUse(kind, id, now).catch((error: unknown) => logError('credential_use_failed', error)));
}
