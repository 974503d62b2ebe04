/**
 * Runs a private Tessera for a black-box test: `dev/local/start.ts`, like `npm start`, in its own process group, on free ports, with
 * its own state and secrets. `kill9()` simulates a power cut.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { DIRECTORIES } from './directories.ts';
import { PLATFORM_BUNDLE } from './platform/bundle.ts';
import { copyStateTemplate } from './state-template.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface TestServerOptions {
  /** Variables of the Worker, which override those of .dev.vars.example. */
  readonly vars?: Readonly<Record<string, string>>;
  readonly objectShards?: number;
  /** Number of user databases, `DIRECTORY` included: 1, 5, 21 or 85. */
  readonly directories?: number;
  /**
   * Whether to run the real Worker, for tests that measure or that do not start a prebuilt bundle. By default, the Worker runs
   * under the rules of the platform.
   */
  readonly withoutRules?: boolean;
  /** Packed state folder (`tar.gz`) to start from, with its own `dev.vars`. By default, the databases are empty. */
  readonly state?: string;
}

export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the response of any route; each test asserts the members it needs
  readonly body: any;
  readonly headers: Headers;
}

export interface TestServer {
  /** URL of the server: `http://127.0.0.1:port`. */
  readonly url: string;
  readonly rootToken: string;
  /** Process id of `dev/local/start.ts`, the parent of workerd. */
  readonly pid: number;
  readonly smtpPort: number;
  readonly sinkPort: number;
  /** Directory with the state, the files of the SMTP sink, and `server.log`. */
  readonly directory: string;
  /** Calls a JSON API with the root token, or with another bearer token. Null sends no token. */
  call(method: string, path: string, body?: unknown, token?: string | null): Promise<ApiAnswer>;
  /** Creates a user with an access key through the identity API. */
  createAccessKey(name: string): Promise<{ userId: string; accessKeyId: string; secretAccessKey: string }>;
  stop(): Promise<void>;
  kill9(): Promise<void>;
  /** Restarts on the same ports and state, after `stop` or `kill9`. The number of user databases may be larger than before. */
  start(vars?: Readonly<Record<string, string>>, directories?: number): Promise<void>;
  /** Stops the server and removes its state. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Limits of the first days of an account are raised, because all accounts of a test are new. test/mail/security/sending.test.ts tests
 * them.
 */
const ROOMY = {
  SEND_LIMIT_FIRST_DAY: '10000000',
  SEND_LIMIT_FIRST_WEEK: '10000000',
  DOMAIN_SEND_LIMIT_PER_HOUR: '10000000',
  // Update totals each second, because tests compare the operator's totals with what they sent.
  MAIL_LEDGER_SECONDS: '1',
};

const FIRST_PORT = 10_000;
const PORTS = 20_000;

/**
 * Finds a free port below 32768. Linux uses higher ports for outgoing connections, which could take a port between its choice and
 * its use.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
}

/** @returns environment variables that give `npm start` free ports, and no bridge: a test that needs one starts it. */
export const freePorts = async () => ({
  PORT: String(await freePort()),
  SMTP_PORT: String(await freePort()),
  SINK_PORT: String(await freePort()),
  BRIDGE: '0',
});

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  if (options.state === undefined) copyStateTemplate(directory);
  else execFileSync('tar', ['-C', directory, '-xzf', options.state]);
  const ports = await freePorts();
  const url = `http://127.0.0.1:${ports.PORT}`;
  let child: ChildProcess | undefined;
  const withRules = !options.withoutRules && existsSync(PLATFORM_BUNDLE);
  let rootToken = '';

  async function start(
    vars: Readonly<Record<string, string>> = {},
    directories = options.directories ?? DIRECTORIES,
  ): Promise<void> {
    const variables = Object.entries({ ...ROOMY, ...options.vars, ...vars }).map(([name, value]) => [
      `VAR_${name}`,
      value,
    ]);
    // Write the log to a file instead of a pipe: while a test runs a command synchronously, it does not read the pipe, and a full
    // pipe blocks the server.
    const log = openSync(join(directory, 'server.log'), 'a');
    const from = fstatSync(log).size;
    child = spawn(process.execPath, ['dev/local/start.ts'], {
      cwd: ROOT,
      detached: true,
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        ...Object.fromEntries(variables),
        ...ports,
        STATE_DIR: directory,
        DEV_VARS: join(directory, 'dev.vars'),
        LOG: 'json',
        DIRECTORIES: String(directories),
        // The limit per client address is raised, because all users of a test share one address. test/identity/security/logins.test.ts tests
        // it.
        RATE_LIMIT_AUTH: '100000',
        ...(withRules ? { WORKER_BUNDLE: PLATFORM_BUNDLE } : {}),
        ...(options.objectShards ? { OBJECT_SHARDS: String(options.objectShards) } : {}),
      },
    });
    closeSync(log);
    await ready(child, from);
    rootToken = parseEnv(readFileSync(join(directory, 'dev.vars'), 'utf8')).ROOT_TOKEN ?? '';
  }

  const readLog = () => readFileSync(join(directory, 'server.log'), 'utf8');

  /** Checks the log for violations. @param from the length in bytes of the log of earlier processes, which is skipped. */
  async function ready(process_: ChildProcess, from: number): Promise<void> {
    const log = join(directory, 'server.log');
    while (!readFileSync(log).subarray(from).includes('Ctrl-C ends it')) {
      if (process_.exitCode !== null || process_.signalCode !== null)
        throw new Error(`The server exited with ${process_.exitCode ?? process_.signalCode}:\n${readLog()}`);
      await setTimeout(20);
    }
  }

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ending = child;
    child = undefined;
    if (!ending?.pid || ending.exitCode !== null) return;
    const exited = new Promise((resolve) => ending.once('exit', resolve));
    process.kill(signal === 'SIGKILL' ? -ending.pid : ending.pid, signal);
    await exited;
  }

  async function call(method: string, path: string, body?: unknown, token: string | null = rootToken) {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  }

  await start();
  return {
    url,
    get rootToken() {
      return rootToken;
    },
    get pid() {
      return child?.pid ?? 0;
    },
    smtpPort: Number(ports.SMTP_PORT),
    sinkPort: Number(ports.SINK_PORT),
    directory,
    call,
    async createAccessKey(name) {
      const { body: user } = await call('POST', '/v1/iam/users', { name });
      const { body: key } = await call('POST', `/v1/iam/users/${user.user_id}/access-keys`, {});
      return { userId: user.user_id, accessKeyId: key.access_key_id, secretAccessKey: key.secret_access_key };
    },
    stop: () => end('SIGTERM'),
    kill9: () => end('SIGKILL'),
    start,
    async [Symbol.asyncDispose]() {
      await end('SIGTERM');
      const violations = readLog().match(/.*"platform_violation".*/g) ?? [];
      rmSync(directory, { recursive: true, force: true });
      if (violations.length > 0) throw new Error(violations.join('\n'));
    },
  };
}
