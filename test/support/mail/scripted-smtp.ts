/**
 * An SMTP server with scripted behaviour at each stage: a different reply, no reply, or a dropped connection. It implements a
 * minimal SMTP and records every message that it accepts.
 */
import { createServer, type Socket } from 'node:net';

export type ScriptStage = 'connect' | 'ehlo' | 'mail' | 'rcpt' | 'data' | 'body' | 'final_dot' | 'rset';

/**
 * Reply at a stage: lines joined by CRLF without the last CRLF, `drop` to close the connection, `hang` to go silent, null for the
 * default reply.
 */
export type ScriptedAnswer = string | 'drop' | 'hang' | null;
export type Script = (stage: ScriptStage, argument: string) => ScriptedAnswer;

export interface TakenMessage {
  readonly from: string;
  readonly to: readonly string[];
  /** Raw bytes of the message without dot-stuffing. */
  readonly raw: Buffer;
}

export interface ScriptedSmtp {
  readonly port: number;
  readonly taken: TakenMessage[];
  /** Every line that clients sent, in order. */
  readonly said: string[];
  connections: number;
  script: Script;
  stop(): Promise<void>;
}

export interface ScriptedSmtpOptions {
  readonly script?: Script;
  readonly extensions?: readonly string[];
  readonly port?: number;
}

export async function startScriptedSmtp(options: ScriptedSmtpOptions = {}): Promise<ScriptedSmtp> {
  const sockets = new Set<Socket>();
  const state: ScriptedSmtp = {
    port: 0,
    taken: [],
    said: [],
    connections: 0,
    script: options.script ?? (() => null),
    stop: async () => {},
  };
  const extensions = options.extensions ?? ['PIPELINING', 'SIZE 100000000', '8BITMIME'];
  const server = createServer((socket) => {
    state.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    serve(socket, state, extensions);
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const address = server.address();
  return Object.assign(state, {
    port: typeof address === 'object' && address ? address.port : 0,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  });
}

function serve(socket: Socket, state: ScriptedSmtp, extensions: readonly string[]): void {
  let pending = Buffer.alloc(0);
  let from = '';
  let to: string[] = [];
  let isBody = false;
  let isSilent = false;

  function answer(stage: ScriptStage, argument: string, usual: string): boolean {
    const scripted = state.script(stage, argument);
    if (scripted === 'drop') {
      socket.destroy();
      isSilent = true;
      return false;
    }
    if (scripted === 'hang') {
      isSilent = true;
      return false;
    }
    const reply = scripted ?? usual;
    socket.write(`${reply}\r\n`);
    return /^[23]/.test(reply);
  }

  function takeLine(line: string): void {
    state.said.push(line);
    const verb = line.slice(0, 4).toUpperCase();
    const path = /<([^>]*)>/.exec(line)?.[1] ?? '';
    if (verb === 'EHLO' || verb === 'HELO') {
      const lines = ['scripted', ...extensions];
      answer('ehlo', line, lines.map((text, n) => `250${n === lines.length - 1 ? ' ' : '-'}${text}`).join('\r\n'));
    } else if (verb === 'MAIL') {
      if (answer('mail', path, '250 2.1.0 ok')) from = path;
    } else if (verb === 'RCPT') {
      if (answer('rcpt', path, '250 2.1.5 ok')) to.push(path);
    } else if (verb === 'DATA') {
      if (to.length === 0) socket.write('554 5.5.1 no recipients\r\n');
      else isBody = answer('data', '', '354 go on');
    } else if (verb === 'RSET') {
      from = '';
      to = [];
      answer('rset', '', '250 2.0.0 ok');
    } else if (verb === 'QUIT') {
      socket.end('221 2.0.0 bye\r\n');
    } else socket.write('502 5.5.2 what\r\n');
  }

  function takeBody(): boolean {
    const dropsEarly = pending.length > 0 && state.script('body', '') === 'drop';
    if (dropsEarly) {
      socket.destroy();
      return false;
    }
    const end = pending.subarray(0, 3).equals(Buffer.from('.\r\n')) ? 0 : pending.indexOf('\r\n.\r\n');
    if (end === -1) return false;
    const raw = pending.subarray(0, end === 0 && pending[0] === 46 ? 0 : end + 2);
    pending = pending.subarray(end === 0 && pending[0] === 46 ? 3 : end + 5);
    isBody = false;
    const unstuffed = Buffer.from(raw.toString('latin1').replace(/(^|\r\n)\.\./g, '$1.'), 'latin1');
    const message = { from, to, raw: unstuffed };
    // If a server drops the connection here, the sender cannot know whether it accepted the message. This server has accepted it,
    // which is the worse case.
    state.taken.push(message);
    to = [];
    if (!answer('final_dot', message.from, '250 2.0.0 taken') && !isSilent) state.taken.pop();
    return true;
  }

  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      if (isSilent) return;
      if (isBody) {
        if (!takeBody()) return;
        continue;
      }
      const end = pending.indexOf('\r\n');
      if (end === -1) return;
      const line = pending.subarray(0, end).toString();
      pending = pending.subarray(end + 2);
      takeLine(line);
    }
  });
  answer('connect', '', '220 scripted ESMTP');
}
