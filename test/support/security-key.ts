/** A security key in software on Debian's python3-fido2, which shares no code with the server. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const DEVICE = join(import.meta.dirname, 'fido2-device.py');
/** Path of Debian's Python, which has the package. Another Python may come first on the path. */
const PYTHON = '/usr/bin/python3';
export const hasFido2 = spawnSync(PYTHON, ['-c', 'import fido2']).status === 0;
if (!hasFido2 && process.env.CI === 'true') throw new Error('CI lacks python3-fido2');

// biome-ignore lint/suspicious/noExplicitAny: responses of the API and of the device; each test asserts the members it needs
type Json = any;

/** A device with its own keys. `fido2-device.py` describes the members of a request (`more`). */
export class SecurityKey {
  readonly #origin: string;

  readonly #process: ChildProcessWithoutNullStreams = spawn(PYTHON, [DEVICE]);
  readonly #lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();

  /** Makes a device with new keys. @param origin of the page that uses it. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  async #ask(request: object): Promise<Json> {
    this.#process.stdin.write(`${JSON.stringify(request)}\n`);
    const { value } = await this.#lines.next();
    return JSON.parse(value ?? '');
  }
  create(options: Json, more: object = {}) {
    return this.#ask({ do: 'create', origin: this.#origin, options, ...more });
  }
  get(options: Json, more: object = {}) {
    return this.#ask({ do: 'get', origin: this.#origin, options, ...more });
  }
  stop() {
    this.#process.stdin.end();
  }
}

export async function withSecurityKey<T>(origin: string, work: (key: SecurityKey) => Promise<T>): Promise<T> {
  const key = new SecurityKey(origin);
  try {
    return await work(key);
  } finally {
    key.stop();
  }
}
