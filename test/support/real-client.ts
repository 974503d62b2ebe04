import { spawnSync } from 'node:child_process';
import { reportMissing } from './missing-programs.ts';

/**
 * Whether all these commands are installed. On a user's machine, tests of a missing client are skipped visibly, and the end of the
 * run names the client.
 * @throws in CI if a command is missing, because CI installs every client.
 */
export function hasClient(...commands: string[]): boolean {
  const missing = commands.filter((command) => spawnSync('which', [command]).status !== 0);
  reportMissing(...missing);
  return missing.length === 0;
}

/** Whether Debian's Python has these modules, like `hasClient`. */
export function hasPythonModules(...modules: string[]): boolean {
  const missing = modules.filter((name) => spawnSync('/usr/bin/python3', ['-c', `import ${name}`]).status !== 0);
  reportMissing(...missing.map((name) => `python3-${name}`));
  return missing.length === 0;
}
