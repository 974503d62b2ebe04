/**
 * Failed logins in the audit log: one entry at the first, tenth, hundredth… failure of an hour, for each subject and network. A
 * flood of guesses thus adds few entries, and each entry has the number of failures up to then.
 */
import type { Context } from 'hono';
import { type AuditTarget, readNetwork, recordAudit, SERVICE, SYSTEM } from '../../shared/audit/audit.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { newestDatabaseOf } from '../../shared/stores/directories.ts';
import { createLoginStore } from '../store/login-store.ts';
import { toGuardKey } from './guesses.ts';

const HOUR_MS = 3_600_000;

const isRecorded = (failures: number): boolean => /^10*$/.test(String(failures));

/**
 * Counts a failed login, and records it if it is due. It does the same work for a subject that does not exist.
 * @param subject the account or operator; null for an unknown name, which the entry does not contain.
 */
export async function recordFailedLogin(c: Context<JsonApiEnv>, subject: AuditTarget | null): Promise<void> {
  const { type, id } = subject ?? SERVICE;
  const network = readNetwork(c.req.raw.headers) ?? '';
  const key = toGuardKey('failed login', type, id, network);
  const counts = createLoginStore(newestDatabaseOf(c.env, key));
  const { count: failures } = await counts.countGuess(key, createClock(c.env)(), HOUR_MS);
  if (!isRecorded(failures)) return;
  await recordAudit(c, 'login.failed', { type, id }, { failures, unknown: subject === null || undefined }, SYSTEM);
}
