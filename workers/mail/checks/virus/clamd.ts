/**
 * Client of the ClamAV daemon over TCP, command INSTREAM (https://docs.clamav.net/manual/Usage/Scanning.html#clamd). An unclear
 * answer or a timeout is "deferred".
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { CheckDependencies, ScannerSocket } from '../dependencies.ts';
import type { Deferred, VirusVerdict } from '../verdicts.ts';

const PORT_DEFAULT = 3310;
const CHUNK_BYTES = 64 * 1024;
const ANSWER_BYTES_MAX = 8 * 1024;

type ClamdVerdict = Pick<VirusVerdict, 'verdict' | 'reasons'>;

const deferred = (reason: string) => err<Deferred>({ kind: 'deferred', reason: `clamd: ${reason}` });

/** Parses the address of clamd. @param address `host:port`, `[v6]:port`, or only a host. */
export function parseAddress(address: string): { hostname: string; port: number } | null {
  const match = /^(?:tcp:\/\/)?(\[[0-9a-f:.]+\]|[^:/\s]+)(?::(\d{1,5}))?$/i.exec(address.trim());
  const port = Number(match?.[2] ?? PORT_DEFAULT);
  return match?.[1] === undefined || port < 1 || port > 65_535 ? null : { hostname: match[1], port };
}

/** Scans a message with clamd. @param raw the whole message. */
export async function scanWithClamd(
  raw: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  address: string,
  connect: CheckDependencies['connect'],
  timeoutMs: number,
): Promise<Result<ClamdVerdict, Deferred>> {
  const target = parseAddress(address);
  if (target === null) return deferred('CLAMD_ADDRESS is not host:port');
  let socket: ScannerSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), timeoutMs);
  });
  try {
    socket = connect(target);
    const asked = converse(socket, raw);
    // Handles a later rejection of the answer, in case the timeout comes first. It would otherwise be an unhandled rejection.
    asked.catch(() => undefined);
    return readAnswer(await Promise.race([asked, late]));
  } catch (error) {
    return deferred(error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
    // The answer is known already, so errors of closing are ignored.
    socket?.close().catch(() => undefined);
  }
}

/** INSTREAM: a length precedes each chunk, and a length of zero ends the stream. Like the command, the answer ends in NUL. */
async function converse(socket: ScannerSocket, raw: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const answer = readUntilNul(socket.readable);
  answer.catch(() => undefined);
  const writer = socket.writable.getWriter();
  const send = async () => {
    await writer.write(new TextEncoder().encode('zINSTREAM\0'));
    for await (const bytes of raw) {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
        const chunk = bytes.subarray(at, at + CHUNK_BYTES);
        await writer.write(lengthOf(chunk.length));
        await writer.write(chunk);
      }
    }
    await writer.write(lengthOf(0));
  };
  // clamd may answer and close early ("size limit exceeded"). Sending then fails, and the answer explains why.
  const sent = send();
  sent.catch(() => undefined);
  const text = await answer;
  if (text === '') await sent;
  return text;
}

function lengthOf(length: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, length);
  return bytes;
}

async function readUntilNul(readable: ReadableStream<Uint8Array>): Promise<string> {
  const reader = readable.getReader();
  let text = '';
  while (!text.includes('\0') && text.length < ANSWER_BYTES_MAX) {
    const { done, value } = await reader.read();
    if (done) break;
    text += Buffer.from(value).toString('latin1');
  }
  return text;
}

function readAnswer(text: string): Result<ClamdVerdict, Deferred> {
  // clamd ends its answer with NUL. Without it, the answer may be truncated.
  if (!text.endsWith('\0'))
    return deferred(text === '' ? 'the connection was closed without an answer' : 'the answer is truncated');
  const line = text.slice(0, -1).trim();
  if (line === 'stream: OK') return ok({ verdict: 'clean', reasons: [] });
  const found = /^stream: (\S.{0,200}) FOUND$/.exec(line);
  if (found?.[1] !== undefined)
    return ok({ verdict: toSeverity(found[1]), reasons: [{ rule: 'CLAMAV', text: found[1], part: '' }] });
  return deferred(`unknown answer: ${line.slice(0, 100)}`);
}

/** With `AlertEncrypted` and `AlertExceedsMax` on, clamd reports parts that it could not scan under these families of names. */
function toSeverity(name: string): VirusVerdict['verdict'] {
  return /^Heuristics\.(?:Encrypted|Limits)\b/.test(name) ? 'not_scanned' : 'infected';
}
