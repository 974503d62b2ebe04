/**
 * Rotates MASTER_KEY: set the new key as MASTER_KEY and the old one as MASTER_KEY_PREVIOUS, deploy, reseal until nothing
 * remains, then drop the old key. Until then both keys open secrets, so nothing stops working.
 */

import { compareText, databaseOf, readMerged } from '../../shared/stores/directories.ts';
import { createIdentityStore } from '../store/store.ts';
import { homeOfAccessKey } from './credentials.ts';
import { isSealedByCurrentKey, openSecret, sealSecret } from './secrets.ts';

/** A store of sealed secrets of one kind, such as identity's access keys and mail's DKIM keys. */
export interface SecretKeeper {
  /** Kind of the secrets, in the report. */
  readonly name: string;
  /** Lists sealed secrets with a key greater than `after`, in order of their key. */
  list(env: Env, after: string, limit: number): Promise<{ key: string; context: string; sealed: string }[]>;
  /** Replaces a sealed text if it has not changed since it was listed. */
  replace(env: Env, key: string, before: string, after: string): Promise<void>;
}

export const accessKeySecrets: SecretKeeper = {
  name: 'access_keys',
  async list(env, after, limit) {
    const read = (database: D1Database) => createIdentityStore(database).listSealedSecrets(after, limit);
    const rows = await readMerged(env, read, (a, b) => compareText(a.accessKeyId, b.accessKeyId), limit);
    return rows.map((row) => ({
      key: row.accessKeyId,
      context: `access-key:${row.accessKeyId}`,
      sealed: row.secretSealed,
    }));
  },
  replace: (env, key, before, after) =>
    createIdentityStore(databaseOf(env, homeOfAccessKey(key))).replaceSealedSecret(key, before, after),
};

const SECRETS_PER_PAGE = 100;
/**
 * Maximum number of secrets that a call seals. Each is one written row, and a Worker's limits apply; the rest needs further calls.
 */
const SECRETS_PER_CALL_MAX = 5_000;

export interface ResealReport {
  readonly kind: string;
  /** Number of secrets that were sealed by the present key before this call. */
  current: number;
  resealed: number;
  /** Keys of the secrets that neither MASTER_KEY nor its predecessor opens, or that are corrupt. These credentials do not work. */
  readonly unreadable: string[];
  /** Whether this call reached the last secret. If not, a further call is needed. */
  readonly complete: boolean;
}

/** Seals secrets again with the present MASTER_KEY, up to the limit of a call. */
export async function reseal(keeper: SecretKeeper, env: Env): Promise<ResealReport> {
  const report: ResealReport = { kind: keeper.name, current: 0, resealed: 0, unreadable: [], complete: false };
  let after = '';
  while (report.resealed < SECRETS_PER_CALL_MAX) {
    const rows = await keeper.list(env, after, SECRETS_PER_PAGE);
    for (const row of rows) {
      if (isSealedByCurrentKey(row.sealed, env)) {
        report.current++;
        continue;
      }
      const opened = openSecret(row.sealed, row.context, env);
      if (!opened.ok) {
        report.unreadable.push(row.key);
        continue;
      }
      await keeper.replace(env, row.key, row.sealed, sealSecret(opened.value, row.context, env));
      report.resealed++;
    }
    const last = rows.at(-1);
    if (!last || rows.length < SECRETS_PER_PAGE) return { ...report, complete: true };
    after = last.key;
  }
  return report;
}
