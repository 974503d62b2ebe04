/** A server whose Worker and objects are of chosen versions, on one state, at a chosen time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WORKER_BUNDLE } from '../../../dev/local/build.ts';
import { type LocalServer, startLocalServer } from '../../../dev/local/local-server.ts';
import { copyStateTemplate } from '../state-template.ts';
import { unpackLast } from './last-release.ts';
import type { Version } from './walk.ts';

export interface UpgradedAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of any route of any version
  readonly body: any;
}

const ROOT_TOKEN = 'root-of-upgrade';

export class UpgradedServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tessera-upgrade-'));
  readonly #last = unpackLast(mkdtempSync(join(this.#folder, 'script-')));
  readonly #vars: Readonly<Record<string, string>>;
  #server: LocalServer | undefined;
  /** Lines of the log with the level `error`. */
  readonly errors: string[] = [];

  constructor(vars: Readonly<Record<string, string>>) {
    this.#vars = vars;
    copyStateTemplate(join(this.#folder, 'state'));
  }

  /** Starts, or starts again on the same state. The objects have a script of their own, so that their storage stays the same. */
  async start(worker: Version, objects: Version, time: string): Promise<void> {
    await this.#server?.stop();
    const pathOf = (version: Version) => (version === 'last' ? this.#last : join(WORKER_BUNDLE, 'index.js'));
    this.#server = await startLocalServer({
      host: '127.0.0.1',
      port: 0,
      stateDirectory: join(this.#folder, 'state'),
      vars: {
        ...{ ROOT_TOKEN, MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), REQUESTS_PER_CLIENT: '1000000' },
        ...{ CLOCK_OFFSET_SECONDS: String(Math.round((Date.parse(time) - Date.now()) / 1000)), ...this.#vars },
      },
      scriptPath: pathOf(worker),
      objectsScriptPath: pathOf(objects),
      rateLimits: { RATE_LIMIT_USER: 100_000, RATE_LIMIT_CLIENT: 100_000 },
      withoutCron: true,
      printLog: (line) => {
        if (line.includes('"level":"error"')) this.errors.push(line);
      },
    });
  }

  /** @param token default: that of the operator */
  async call(method: string, path: string, body?: object, token = ROOT_TOKEN): Promise<UpgradedAnswer> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(`${this.#server?.url}${path}`, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : text };
  }

  async runCron(): Promise<void> {
    await this.#server?.runCron('* * * * *');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
