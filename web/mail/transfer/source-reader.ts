/** Reads an import source in pieces of whole messages: up to about a megabyte, or one larger message. */
import type { ImportSource } from './import-sources.ts';
import { lastCut, MESSAGE_BYTES_MAX } from './mbox-pieces.ts';

const PIECE_BYTES = 1_000_000;

export class SourceReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #isMbox: boolean;
  /** Bytes that were read and not returned. */
  #waiting: Uint8Array<ArrayBuffer>[] = [];
  #waitingBytes = 0;
  #isAtEnd = false;

  private constructor(stream: ReadableStream<Uint8Array>, isMbox: boolean) {
    this.#reader = stream.getReader();
    this.#isMbox = isMbox;
  }

  static async open(source: ImportSource, offset: number): Promise<SourceReader> {
    return new SourceReader(await source.open(offset), source.kind === 'mbox');
  }

  /** @returns the next piece; null after the last one. Messages and contacts are one piece. */
  async next(): Promise<Uint8Array<ArrayBuffer> | null> {
    for (let size = this.#isMbox ? PIECE_BYTES : MESSAGE_BYTES_MAX; ; size = Math.min(2 * size, MESSAGE_BYTES_MAX)) {
      await this.#fill(size);
      if (this.#waitingBytes === 0) return null;
      if (this.#isAtEnd && (!this.#isMbox || this.#waitingBytes <= size)) return this.#take(this.#waitingBytes);
      const cut = lastCut(this.#join().subarray(0, size));
      if (cut > 0) return this.#take(cut);
      if (size === MESSAGE_BYTES_MAX) return this.#take(size);
    }
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }

  async #fill(size: number): Promise<void> {
    while (this.#waitingBytes < size && !this.#isAtEnd) {
      const { done, value } = await this.#reader.read();
      if (done) this.#isAtEnd = true;
      else {
        this.#waiting.push(new Uint8Array(value));
        this.#waitingBytes += value.length;
      }
    }
    // Whether the source ends here shows only after its last byte.
    if (this.#waitingBytes === size && !this.#isAtEnd) await this.#fill(size + 1);
  }

  #join(): Uint8Array<ArrayBuffer> {
    const [first, ...others] = this.#waiting;
    if (first && others.length === 0) return first;
    const joined = new Uint8Array(this.#waitingBytes);
    let at = 0;
    for (const chunk of this.#waiting) {
      joined.set(chunk, at);
      at += chunk.length;
    }
    this.#waiting = [joined];
    return joined;
  }

  #take(size: number): Uint8Array<ArrayBuffer> {
    const all = this.#join();
    const rest = all.slice(size);
    this.#waiting = rest.length > 0 ? [rest] : [];
    this.#waitingBytes = rest.length;
    return all.slice(0, size);
  }
}
