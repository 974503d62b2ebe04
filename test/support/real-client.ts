import { spawnSync } from 'node:child_process';

/**
 * Whether all these commands are installed. On a user's machine, tests of a missing client are skipped visibly.
 * @throws in CI if a command is missing, because CI installs every client.
 */
export function hasClient(...commands: string[]): boolean {
  const missing = commands.filter((command) => spawnSync('which', [command]).status !== 0);
  if (missing.length > 0 && process.env.CI === 'true') throw new Error(`CI lacks ${missing.join(', ')}`);
  return missing.length === 0;
}
