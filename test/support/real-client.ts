import { spawnSync } from 'node:child_process';

/**
 * Whether a real client stands on this machine. A missing one is a visible skip on a user's machine; in CI it is an
 * error, because there every client is installed.
 */
export function hasClient(...commands: string[]): boolean {
  const missing = commands.filter((command) => spawnSync('which', [command]).status !== 0);
  if (missing.length > 0 && process.env.CI === 'true') throw new Error(`CI lacks ${missing.join(', ')}`);
  return missing.length === 0;
}
