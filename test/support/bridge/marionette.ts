/**
 * Client of Marionette, the remote protocol of Thunderbird and Firefox: a packet is `length:JSON`, a command is `[0, id, name, parameters]`
 * and its answer `[1, id, error, result]`.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Bound of one script, so that a test says which one hangs. */
const SCRIPT_MS = Number(process.env.SCRIPT_MS ?? 120_000);

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class Marionette {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #received: Buffer = Buffer.alloc(0);
  #ids = 0;

  /** Connects as soon as the program listens, and opens a session with the rights of the program itself. */
  static async open(port: number): Promise<Marionette> {
    for (;;) {
      const socket = connect(port, '127.0.0.1');
      const isOpen = await new Promise<boolean>((resolve) =>
        socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
      );
      if (!isOpen) {
        await pause(250);
        continue;
      }
      const marionette = new Marionette(socket);
      await marionette.#call('WebDriver:NewSession', {});
      await marionette.#call('WebDriver:SetTimeouts', { script: SCRIPT_MS });
      await marionette.#call('Marionette:SetContext', { value: 'chrome' });
      return marionette;
    }
  }

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#take(bytes)).on('error', () => {});
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('The program ended'));
    });
  }

  /** Runs the body of an asynchronous function with `arguments`. @returns what it returns, as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: the result of a script that the test has written
  async run(body: string, ...values: unknown[]): Promise<any> {
    const script = `const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);
      (async function () { ${body} }).apply(null, given).then((value) => done({ value }), (error) => done({ error: String(error) + '\\n' + error?.stack }));`;
    const { value } = (await this.#call('WebDriver:ExecuteAsyncScript', { script, args: values })) as {
      value: { value?: unknown; error?: string };
    };
    if (value.error) throw new Error(value.error);
    return value.value;
  }

  async quit(): Promise<void> {
    await this.#call('Marionette:Quit', { flags: ['eForceQuit'] }).catch(() => {});
    this.#socket.destroy();
  }

  #call(name: string, parameters: unknown): Promise<unknown> {
    const id = ++this.#ids;
    const packet = Buffer.from(JSON.stringify([0, id, name, parameters]));
    this.#socket.write(Buffer.concat([Buffer.from(`${packet.length}:`), packet]));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (;;) {
      const colon = this.#received.indexOf(':');
      const length = Number(this.#received.subarray(0, Math.max(colon, 0)).toString());
      if (colon < 0 || this.#received.length < colon + 1 + length) return;
      const packet = JSON.parse(this.#received.subarray(colon + 1, colon + 1 + length).toString());
      this.#received = this.#received.subarray(colon + 1 + length);
      if (!Array.isArray(packet)) continue;
      const [, id, error, result] = packet;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(`${error.error}: ${error.message}\n${error.stacktrace}`));
      else waiting?.resolve(result);
    }
  }
}
