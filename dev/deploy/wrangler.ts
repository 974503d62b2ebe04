/** Runs the installed wrangler. Its failures become errors whose message is a sentence. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../local/build.ts';
import { DeployError, describeMissingPermission, permissionFor } from './cloudflare-api.ts';

const WRANGLER = join(ROOT, 'node_modules/.bin/wrangler');
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Whether wrangler may ask questions: only if input and output are a terminal and CI is not set. */
export const isCi = !['', 'false', '0'].includes(process.env.CI ?? '');
export const isTerminal = Boolean(process.stdin.isTTY && process.stdout.isTTY) && !isCi;

/** Runs wrangler without a terminal. @returns its standard output. @throws DeployError with the reason that wrangler printed. */
export async function runWrangler(...args: string[]): Promise<string> {
  try {
    const running = promisify(execFile)(WRANGLER, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
    running.child.stdin?.end();
    return (await running).stdout;
  } catch (error) {
    throw toDeployError(args, error);
  }
}

/**
 * Runs wrangler on the terminal, where it asks before it replaces domains. Through a pipe, it would replace them without asking.
 * @throws DeployError
 */
export async function runWranglerOnTerminal(...args: string[]): Promise<void> {
  // Set CI=false: otherwise wrangler may take other variables as a sign of CI and then does not ask.
  const child = spawn(WRANGLER, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, CI: 'false' } });
  const [status] = await once(child, 'close').catch((error: unknown) => {
    throw toDeployError(args, error);
  });
  if (status !== 0) throw toDeployError(args, {});
}

function toDeployError(args: readonly string[], error: unknown): DeployError {
  const { code, stdout, stderr } = error as { code?: string; stdout?: string; stderr?: string };
  if (code === 'ENOENT') return new DeployError(`${WRANGLER} does not exist. Run npm ci first.`);
  const output = `${stdout ?? ''}\n${stderr ?? ''}`.trim();
  const path = /A request to the Cloudflare API \(([^)]+)\) failed/.exec(output)?.[1];
  const permission = path && /\[code: (?:10000|9109|10405)\]/.test(output) ? permissionFor(path) : undefined;
  if (permission) return new DeployError(describeMissingPermission(permission));
  const reason = output.split('\n').filter((line) => !/^\s+at /.test(line));
  return new DeployError(`wrangler ${args.slice(0, 3).join(' ')} failed.\n${reason.join('\n')}`.trim());
}
