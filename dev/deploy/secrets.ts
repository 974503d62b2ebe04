/** Secrets of a deployment: which exist, which are created, and where the only copy of a created one is kept. */
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { DeployError } from './cloudflare-api.ts';
import { readEnvFile } from './settings.ts';

const REQUIRED = ['ROOT_TOKEN', 'MASTER_KEY'] as const;

/** Lists the required secrets that the Worker does not have. */
export const listMissingSecrets = (present: readonly string[] | undefined): string[] =>
  REQUIRED.filter((name) => !present?.includes(name));

/**
 * Checks the secrets of a deployment in CI. There the disk is discarded, and with it the only copy of a created key. So the secrets
 * must come from the environment.
 * @throws DeployError that names the secrets to set, before anything is changed.
 */
export function requireSecretsOfCi(present: readonly string[] | undefined): void {
  const unset = listMissingSecrets(present).filter((name) => !process.env[name]);
  if (unset.length > 0)
    throw new DeployError(
      `CI is set, so ${unset.join(' and ')} must be in the environment for the first deployment: a key that CI creates is lost with its disk. Create each with "openssl rand -base64 32", keep a copy, and store it among the CI's secrets. Nothing was changed.`,
    );
}

interface SecretsInput {
  readonly present: readonly string[] | undefined;
  readonly given: Readonly<Record<string, string>>;
  /** Path of `.deploy.secrets`, to which created secrets are written. */
  readonly file: string;
  readonly isCi: boolean;
}

/**
 * Creates the required secrets that the Worker lacks and adds the given optional ones. A created secret is written to `file` before
 * it is uploaded, because Cloudflare never shows MASTER_KEY again. In CI nothing is written.
 * @returns the secrets to upload.
 */
export function prepareSecrets({ present, given, file, isCi }: SecretsInput): Record<string, string> {
  const required: readonly string[] = REQUIRED;
  const upload = Object.fromEntries(Object.entries(given).filter(([name]) => !required.includes(name)));
  const missing = listMissingSecrets(present);
  if (missing.length === 0) return upload;
  const created: Record<string, string> = {};
  for (const name of missing) created[name] = given[name] ?? randomBytes(32).toString('base64');
  if (!isCi) {
    const kept = { ...readEnvFile(file), ...created };
    const lines = Object.entries(kept).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(file, lines.join(''), { mode: 0o600 });
    console.log(
      `${missing.join(' and ')} are in ${basename(file)}: keep that file somewhere safe, it is the only copy.`,
    );
  }
  return { ...upload, ...created };
}

/**
 * Calls `use` with the arguments that pass the secrets to wrangler. Then deletes the file that holds them. Also deletes a
 * file that a killed run left.
 */
export async function withSecretsFile<T>(
  path: string,
  secrets: Readonly<Record<string, string>>,
  use: (args: string[]) => Promise<T>,
): Promise<T> {
  rmSync(path, { force: true });
  if (Object.keys(secrets).length === 0) return use([]);
  try {
    writeFileSync(path, JSON.stringify(secrets), { mode: 0o600 });
    return await use(['--secrets-file', path]);
  } finally {
    rmSync(path, { force: true });
  }
}
