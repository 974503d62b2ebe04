/** Reads commits of this checkout. */
import { execFileSync } from 'node:child_process';
import { ROOT } from './build.ts';

/** Runs git. @returns its output, or undefined without git or outside a clone. */
export function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

/** The commit of this checkout: its first 12 hexadecimal digits, or undefined without git. */
export const readCommit = (): string | undefined => git('rev-parse', '--short=12', 'HEAD');
