/** Runs `npm run deploy` with the real wrangler against the stand-in of Cloudflare's API. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { CloudflareStandIn } from './cloudflare-api.ts';

const ROOT = join(import.meta.dirname, '../../..');
export const HOSTS = { APP_HOST: 'tessera.example.com', S3_HOST: 's3.example.com' };

export interface DeployRun {
  readonly status: number | null;
  readonly output: string;
}

interface RunOptions {
  readonly cloudflare: CloudflareStandIn;
  /** Folder with `.deploy.vars` and `.deploy.secrets`. */
  readonly directory: string;
  readonly args?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  /** Answers that are typed into a terminal, each after the question that its pattern matches. If omitted, there is no terminal. */
  readonly answers?: readonly (readonly [RegExp, string])[];
  /** Kills the script and wrangler when a request matches, before it is answered. */
  readonly killAt?: RegExp;
}

export async function runDeploy({
  cloudflare,
  directory,
  args = [],
  answers,
  ...options
}: RunOptions): Promise<DeployRun> {
  const env = {
    ...process.env,
    CI: '',
    CLOUDFLARE_API_TOKEN: 'token-of-tests',
    CLOUDFLARE_API_BASE_URL: cloudflare.url,
    DEPLOY_CHECK_ORIGIN: cloudflare.url,
    DEPLOY_DIR: directory,
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_LOG_PATH: join(directory, 'logs'),
    ...HOSTS,
    ...options.variables,
  };
  const script = [process.execPath, 'dev/deploy/deploy.ts', ...args];
  const command = answers ? ['script', '-qefc', script.join(' '), '/dev/null'] : script;
  // Run in a process group of its own, so that a kill also reaches wrangler.
  const child = spawn(command[0] ?? '', command.slice(1), { cwd: ROOT, env, detached: true });
  cloudflare.onRequest = (request) => {
    if (!options.killAt?.test(request) || child.pid === undefined || child.signalCode) return;
    process.kill(-child.pid, 'SIGKILL');
    cloudflare.onRequest = () => undefined;
  };
  const waiting = [...(answers ?? [])];
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
      if (waiting[0]?.[0].test(output)) child.stdin.write(waiting.shift()?.[1] ?? '');
    });
  if (!answers) child.stdin.end();
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, output };
}

/** Lists requests that change something. Leaves out GET requests, SQL, metrics and the comparison of domains (`changeset`). */
export const listChanges = ({ requests }: CloudflareStandIn): string[] =>
  requests.filter((request) => !/^GET |\/domains\/changeset$|\/query$|\/analytics_engine\/sql$/.test(request));
