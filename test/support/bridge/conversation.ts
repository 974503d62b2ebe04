/** A client of a session in memory: sends lines and reads answers. */
import { Accounts } from '../../../bridge/session/account.ts';
import type { Peer, Pipe } from '../../../bridge/session/pipe.ts';
import { runSession, type SessionOptions } from '../../../bridge/session/session.ts';
import { ADDRESS, type MemoryAccount, TOKEN } from './memory-account.ts';

export const LOOPBACK: Peer = { address: '127.0.0.1', isTls: false };

/** A pipe whose other end is a test. */
export class TestPipe implements Pipe {
  readonly #incoming: (Uint8Array | null)[] = [];
  #wakeReader = (): void => {};
  #wakeClient = (): void => {};
  #received = '';
  isClosed = false;
  startTls?: () => Promise<void>;

  send(text: string): void {
    this.#incoming.push(Buffer.from(text, 'latin1'));
    this.#wakeReader();
  }
  end(): void {
    this.#incoming.push(null);
    this.#wakeReader();
  }
  async read(): Promise<Uint8Array | null> {
    while (this.#incoming.length === 0) {
      if (this.isClosed) return null;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
    return this.#incoming.shift() ?? null;
  }
  async write(bytes: Uint8Array): Promise<void> {
    this.#received += Buffer.from(bytes).toString('latin1');
    this.#wakeClient();
  }
  async close(): Promise<void> {
    this.isClosed = true;
    this.#wakeReader();
    this.#wakeClient();
  }

  /** @returns what was received up to the end of the pattern; all of it once the session ended. */
  async receive(pattern: RegExp): Promise<string> {
    for (;;) {
      const match = pattern.exec(this.#received);
      if (match || this.isClosed) {
        const end = match ? match.index + match[0].length : this.#received.length;
        const text = this.#received.slice(0, end);
        this.#received = this.#received.slice(end);
        return text;
      }
      await new Promise<void>((resolve) => {
        this.#wakeClient = resolve;
      });
    }
  }
}

export class Conversation {
  readonly pipe: TestPipe;
  readonly ended: Promise<void>;
  #tags = 0;

  constructor(pipe: TestPipe, ended: Promise<void>) {
    this.pipe = pipe;
    this.ended = ended;
  }

  /** Sends a command. @returns its whole answer with the tag replaced by `T`. */
  async run(command: string): Promise<string> {
    const tag = `t${++this.#tags}`;
    this.pipe.send(`${tag} ${command}\r\n`);
    const answer = await this.pipe.receive(new RegExp(`^${tag} [^\\r\\n]*\\r\\n`, 'm'));
    return answer.replace(new RegExp(`^${tag} `, 'm'), 'T ');
  }
}

export interface ConversationOptions extends Partial<SessionOptions> {
  readonly peer?: Peer;
  readonly canStartTls?: boolean;
}

export function startConversation(memory: MemoryAccount, options: ConversationOptions = {}): Conversation {
  const pipe = new TestPipe();
  if (options.canStartTls) pipe.startTls = async () => {};
  const accounts = options.accounts ?? new Accounts({ server: 'https://tessera.test', network: memory.network });
  const ended = runSession(pipe, options.peer ?? LOOPBACK, {
    devicesUrl: 'https://tessera.test/devices',
    ...options,
    accounts,
  });
  return new Conversation(pipe, ended);
}

/** Starts a conversation, logs in, and selects the Inbox unless `mailbox` is null. */
export async function openConversation(
  memory: MemoryAccount,
  mailbox: string | null = 'INBOX',
  options: ConversationOptions = {},
): Promise<Conversation> {
  const conversation = startConversation(memory, options);
  await conversation.run(`LOGIN ${ADDRESS} ${TOKEN}`);
  if (mailbox) await conversation.run(`SELECT ${mailbox}`);
  return conversation;
}
