/** Lines, literals and answers of one connection over its `Pipe`. Holds at most a line and the bytes of one read. */
import type { Pipe } from './pipe.ts';

/** Maximum length of a line without its end. RFC 7162 §4 asks for 8,192. */
export const LINE_BYTES_MAX = 8_192;
/** Text of answers that is collected before it is written. */
const COLLECTED_LENGTH_MAX = 16_384;
const EMPTY = new Uint8Array(0);

export class LineTooLongError extends Error {}
/** The peer ended the connection. */
export class EndedError extends Error {}

export class Wire {
  readonly #pipe: Pipe;
  #buffered: Uint8Array = EMPTY;
  #collected = '';

  constructor(pipe: Pipe) {
    this.#pipe = pipe;
  }

  /**
   * @returns the next line without its end.
   * @throws LineTooLongError, EndedError
   */
  async readLine(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const end = this.#buffered.indexOf(10);
      const part = end < 0 ? this.#buffered : this.#buffered.subarray(0, end);
      length += part.length;
      if (length > LINE_BYTES_MAX + 1) throw new LineTooLongError();
      parts.push(part);
      if (end >= 0) {
        this.#buffered = this.#buffered.subarray(end + 1);
        const line = concatenate(parts, length);
        return line.at(-1) === 13 ? line.subarray(0, -1) : line;
      }
      await this.#fill();
    }
  }

  /** @throws EndedError */
  async readBytes(length: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of this.#take(length)) parts.push(part);
    return concatenate(parts, length);
  }

  /**
   * @returns a stream of exactly so many bytes, which reads from the peer only as it is consumed, and a function that discards what
   *   was not consumed.
   */
  streamBytes(length: number): { body: ReadableStream<Uint8Array>; finish: () => Promise<void> } {
    const parts = this.#take(length);
    let reading: Promise<unknown> = Promise.resolve();
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const next = parts.next();
          reading = next.catch(() => {});
          return next.then(({ value, done }) => {
            if (done) controller.close();
            else controller.enqueue(value.slice());
          });
        },
      },
      { highWaterMark: 0 },
    );
    const finish = async (): Promise<void> => {
      await reading;
      while (!(await parts.next()).done);
    };
    return { body, finish };
  }

  /** Reads and discards bytes. @throws EndedError */
  async skip(length: number): Promise<void> {
    await this.streamBytes(length).finish();
  }

  /** Collects text of an answer, one byte per character. Call `flush` before the peer has to react. */
  async say(text: string): Promise<void> {
    this.#collected += text;
    if (this.#collected.length > COLLECTED_LENGTH_MAX) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#collected === '') return;
    const bytes = toBytes(this.#collected);
    this.#collected = '';
    await this.#pipe.write(bytes);
  }

  /** Writes bytes after what was collected. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.flush();
    await this.#pipe.write(bytes);
  }

  get canStartTls(): boolean {
    return this.#pipe.startTls !== undefined;
  }

  /** Discards the bytes that came before TLS, so that no command of them runs after it (RFC 9051 §11.3). */
  async startTls(): Promise<void> {
    this.#buffered = EMPTY;
    await this.#pipe.startTls?.();
  }

  close(): Promise<void> {
    return this.#pipe.close();
  }

  async #fill(): Promise<void> {
    const bytes = await this.#pipe.read();
    if (bytes === null) throw new EndedError();
    this.#buffered = bytes;
  }

  async *#take(length: number): AsyncGenerator<Uint8Array> {
    for (let left = length; left > 0; ) {
      if (this.#buffered.length === 0) await this.#fill();
      const part = this.#buffered.subarray(0, left);
      this.#buffered = this.#buffered.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
}

function concatenate(parts: readonly Uint8Array[], length: number): Uint8Array {
  if (parts.length === 1 && parts[0]) return parts[0];
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @returns the bytes of text with one byte per character. */
export const toBytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
/** @returns text with one character per byte. */
export const toByteText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
