/**
 * Rotates MASTER_KEY: set the new key as MASTER_KEY and the old one as MASTER_KEY_PREVIOUS, deploy, reseal until nothing
 * remains, then drop the old key. Until then both keys open secrets, so nothing stops working.
 */

import { createIdentityStore } from '../store/store.ts';
import { isSealedByCurrentKey, openSecret, sealSecret } from './secrets.ts';

/** A product that keeps sealed secrets: identity keeps access keys, mail keeps DKIM keys. */
export interface SecretKeeper {
  /** The kind of secret, in a word. */
  readonly name: string;
  /** Sealed secrets in order of their key, after `after`. */
  list(env: Env, after: string, limit: number): Promise<{ key: string; context: string; sealed: string }[]>;
  /** Replaces a sealed text if it has not changed since it was listed. */
  replace(env: Env, key: string, before: string, after: string): Promise<void>;
}

export const accessKeySecrets: SecretKeeper = {
  name: 'access_keys',
  async list(env, after, limit) {
    const rows = await createIdentityStore(env.DIRECTORY).listSealedSecrets(after, limit);
    return rows.map((row) => ({
      key: row.accessKeyId,
      context: `access-key:${row.accessKeyId}`,
      sealed: row.secretSealed,
    }));
  },
  replace: (env, key, before, after) => createIdentityStore(env.DIRECTORY).replaceSealedSecret(key, before, after),
};

const SECRETS_PER_PAGE = 100;
/** Each secret is one row written. The limit keeps a call within a Worker's limits; the rest needs further calls. */
const SECRETS_PER_CALL_MAX = 5_000;

export interface ResealReport {
  readonly kind: string;
  /** Sealed by the present key before this call. */
  current: number;
  resealed: number;
  /** Keys of secrets that neither key opens, or that are corrupt: these credentials do not work. */
  readonly unreadable: string[];
  /** Whether this call reached the last secret. If not, call again. */
  readonly complete: boolean;
}

/** Seals secrets again with MASTER_KEY, up to the limit of a call. */
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
