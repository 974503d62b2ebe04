/** Starts a private redis-server, by default without persistence, with a minimal RESP2 client. Tests use it as an oracle. */
import { type ChildProcess, spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../server.ts';

type Reply = string | number | null | Reply[];

export interface Redis {
  command(...words: (string | number)[]): Promise<Reply>;
  /** Sends many commands in one write. @returns their replies, in order. */
  pipeline(commands: readonly (string | number)[][]): Promise<Reply[]>;
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

const encode = (words: readonly (string | number)[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join('')}`;

/** Starts a redis-server. @param persistence its options for persistence. */
export async function startRedis(persistence: readonly string[] = ['--appendonly', 'no']): Promise<Redis> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', ...persistence];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const socket = await connectWhenReady(child, port);
  const waiting: ((reply: Reply) => void)[] = [];
  let buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
    let at = 0;
    for (let parsed = parse(buffer, at); parsed !== null; parsed = parse(buffer, at)) {
      at = parsed.end;
      waiting.shift()?.(parsed.reply);
    }
    buffer = buffer.subarray(at);
  });
  const pipeline = (commands: readonly (string | number)[][]): Promise<Reply[]> => {
    const replies = commands.map(() => new Promise<Reply>((resolve) => waiting.push(resolve)));
    socket.write(commands.map(encode).join(''));
    return Promise.all(replies);
  };
  return {
    pid: child.pid ?? 0,
    port,
    pipeline,
    command: async (...words) => (await pipeline([words]))[0] ?? null,
    async stop() {
      socket.destroy();
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
    },
  };
}

async function connectWhenReady(child: ChildProcess, port: number): Promise<Socket> {
  for (let attempt = 0; attempt < 200 && child.exitCode === null; attempt++) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return socket;
    await wait(50);
  }
  throw new Error('redis-server did not start');
}

/** Parses one reply. @returns null if the reply is incomplete. */
function parse(buffer: Buffer, at: number): { reply: Reply; end: number } | null {
  const end = buffer.indexOf('\r\n', at);
  if (end < 0) return null;
  const line = buffer.toString('utf8', at + 1, end);
  const start = end + 2;
  switch (String.fromCharCode(buffer[at] ?? 0)) {
    case '+':
      return { reply: line, end: start };
    case '-':
      throw new Error(line);
    case ':':
      return { reply: Number(line), end: start };
    case '$': {
      const length = Number(line);
      if (length < 0) return { reply: null, end: start };
      if (buffer.length < start + length + 2) return null;
      return { reply: buffer.toString('utf8', start, start + length), end: start + length + 2 };
    }
    default: {
      const replies: Reply[] = [];
      let next = start;
      for (let i = 0; i < Number(line); i++) {
        const parsed = parse(buffer, next);
        if (parsed === null) return null;
        replies.push(parsed.reply);
        next = parsed.end;
      }
      return { reply: replies, end: next };
    }
  }
}
