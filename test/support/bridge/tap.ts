/** Relay in front of a port of the bridge. Keeps the lines of both directions, without the bytes of literals that are messages. */
import { connect, createServer, type Socket } from 'node:net';

export interface TapLine {
  readonly atMs: number;
  readonly connection: number;
  /** `>` to the bridge, `<` to the program. */
  readonly direction: '>' | '<';
  readonly text: string;
}

export interface Tap {
  readonly port: number;
  readonly lines: TapLine[];
  stop(): Promise<void>;
}

export async function startTap(target: number): Promise<Tap> {
  const lines: TapLine[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((program) => {
    const connection = ++connections;
    const bridge = connect(target, '127.0.0.1');
    for (const [from, to, direction] of [
      [program, bridge, '>'],
      [bridge, program, '<'],
    ] as const) {
      sockets.add(from);
      const keep = lineKeeper((text) => lines.push({ atMs: Date.now(), connection, direction, text }));
      from
        .on('data', keep)
        .on('error', () => to.destroy())
        .on('close', () => sockets.delete(from));
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    lines,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** @returns a function that takes bytes and reports each whole line, and of a literal its size only. */
function lineKeeper(report: (text: string) => void): (bytes: Buffer) => void {
  let rest = '';
  let literal = 0;
  return (bytes) => {
    rest += bytes.toString('latin1');
    for (;;) {
      const skipped = Math.min(literal, rest.length);
      rest = rest.slice(skipped);
      literal -= skipped;
      const end = rest.indexOf('\r\n');
      if (literal > 0 || end < 0) return;
      const line = rest.slice(0, end);
      rest = rest.slice(end + 2);
      literal = Number(/\{(\d+)\+?\}$/.exec(line)?.[1] ?? 0);
      report(line);
    }
  };
}
