/**
 * The log of workerd in the ring `objects`. The plugin of Vitest writes it to the streams of the process that has the reporters, and
 * has no option for it. Tests of faults print an uncaught exception for each fault, which looks like a failure. So the log goes to
 * a file, of which only the parts of failed files are printed.
 */
import { fstatSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Messages of workerd, lines that the Worker logs, and what wrangler says about secrets, which the tests set as bindings. Each
 * message is written as a whole.
 */
const RUNTIME_MESSAGE =
  /^(?:uncaught exception; |An RPC result was not disposed properly|\{"level":|Using secrets defined in |.{0,60}Missing required secrets: )/;

/** Part of the log in bytes. */
export type LogPart = readonly [from: number, to: number];

type Stream = Pick<NodeJS.WriteStream, 'write'>;

export class RuntimeLog {
  readonly #file: number;

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true });
    this.#file = openSync(path, 'a');
  }

  /** Length in bytes. */
  get size(): number {
    return fstatSync(this.#file).size;
  }

  /** Moves the messages of workerd from a stream to the file. */
  divert(stream: Stream): void {
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
    stream.write = (chunk: unknown, ...rest: unknown[]) => {
      if (typeof chunk !== 'string' || !RUNTIME_MESSAGE.test(chunk.trimStart())) return write(chunk, ...rest);
      writeSync(this.#file, chunk);
      return true;
    };
  }
}

/** Maximum length in bytes of a printed part. The end of the part is printed, because a failure is near it. */
const PRINTED_BYTES_MAX = 20_000;

export function readPart(path: string, [from, to]: LogPart): string {
  const part = readFileSync(path).subarray(from, to);
  return part.subarray(Math.max(0, part.length - PRINTED_BYTES_MAX)).toString();
}
