/**
 * A closed loop of HTTP/1.1 requests on kept connections. It needs no program beside Node. Its own processor time does not matter, because
 * only that of the server is measured.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Call {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Loaded {
  readonly completed: number;
  /** Answers other than 2xx. */
  readonly failed: number;
}

/** @param seconds how long new requests are sent. @returns after the last answer. */
export async function applyCalls(
  url: string,
  { connections, seconds, next }: { connections: number; seconds: number; next: () => Call },
): Promise<Loaded> {
  const { hostname, port } = new URL(url);
  const until = performance.now() + seconds * 1_000;
  let [completed, failed] = [0, 0];
  const run = async () => {
    const socket = connect(Number(port), hostname).setNoDelay(true);
    await once(socket, 'connect');
    while (performance.now() < until) {
      const call = next();
      const status = await exchange(socket, hostname, call);
      completed++;
      if (status < 200 || status > 299) failed++;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, run));
  return { completed, failed };
}

function exchange(socket: Socket, host: string, { method, target, headers = {}, body }: Call): Promise<number> {
  const all = { host, ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
  socket.write(body === undefined ? head : Buffer.concat([Buffer.from(head), Buffer.from(body)]));
  return readStatus(socket, method === 'HEAD');
}

const END_OF_CHUNKS = '0\r\n\r\n';

/** Reads one answer with its body, which has a length or ends with an empty chunk. @returns its status. */
function readStatus(socket: Socket, isHead: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = '';
    let [leftBytes, isChunked, tail] = [0, false, ''];
    const isComplete = (part: Buffer): boolean => {
      tail = (tail + part.subarray(-END_OF_CHUNKS.length).toString('latin1')).slice(-END_OF_CHUNKS.length);
      if (isChunked) return tail === END_OF_CHUNKS;
      leftBytes -= part.length;
      return leftBytes <= 0;
    };
    const onData = (part: Buffer) => {
      let body = part;
      if (!head.includes('\r\n\r\n')) {
        head += part.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, end))?.[1];
        isChunked = !isHead && /\r\ntransfer-encoding: chunked/i.test(head.slice(0, end));
        leftBytes = isHead ? 0 : Number(length ?? 0);
        body = Buffer.from(head.slice(end + 4), 'latin1');
      }
      if (!isComplete(body)) return;
      socket.off('data', onData).off('error', reject).off('close', onClose);
      resolve(Number(head.slice(9, 12)));
    };
    const onClose = () => reject(new Error('The connection was closed before the answer was complete.'));
    socket.on('data', onData).once('error', reject).once('close', onClose);
  });
}
