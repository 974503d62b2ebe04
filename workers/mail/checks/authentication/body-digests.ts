/** Computes body hashes for the signatures of a message while it streams. DKIM then needs no second pass over the bytes. */
import { type HeaderField, readHeaders } from '../../mime/mime-tree.ts';
import { BodyHash } from './canonical-form.ts';
import { type DigestBody, hashOf, readSignatureTags, SIGNATURES_MAX } from './dkim.ts';

/**
 * Maximum of body hashes: enough for all DKIM signatures that are checked and a genuine ARC chain. Each hash costs a pass over the
 * body.
 */
const HASHES_MAX = 16;
/** Maximum size of a header. The body of a message with a longer header is not hashed. */
const HEADER_BYTES_MAX = 1024 * 1024;
const BLANK_LINES = ['\n\r\n', '\n\n'];

export class BodyDigests {
  readonly #hashes = new Map<string, BodyHash>();
  #head: Buffer | null = Buffer.alloc(0);

  /** Adds bytes of the message. The first chunk must begin at its first byte. */
  push(chunk: Uint8Array): void {
    if (this.#head === null) {
      for (const hash of this.#hashes.values()) hash.push(chunk);
      return;
    }
    // Searches again from 3 bytes before the new chunk, because the blank line may be split across two chunks.
    const from = Math.max(0, this.#head.length - 3);
    const head = Buffer.concat([this.#head, chunk]);
    this.#head = head;
    const isWhole =
      /^\r?\n/.test(head.toString('latin1', 0, 2)) || BLANK_LINES.some((text) => head.includes(text, from));
    if (!isWhole && head.length < HEADER_BYTES_MAX) return;
    this.#read(head);
  }

  #read(head: Buffer): void {
    const { headers, bodyStart } = readHeaders(head);
    this.#head = null;
    this.#open(headers);
    if (bodyStart < head.length) this.push(head.subarray(bodyStart));
  }

  finish(): DigestBody {
    // Without an empty line, a line of white space may end the header. Clients show the text after it as body, so it is hashed.
    if (this.#head !== null) this.#read(this.#head);
    const digests = new Map([...this.#hashes].map(([key, hash]) => [key, hash.finish()]));
    return (form, algorithm, lengthMax) => digests.get(toKey(form, algorithm, lengthMax)) ?? null;
  }

  #open(headers: readonly HeaderField[]): void {
    const signatures = headers.filter((field) => field.name === 'dkim-signature').slice(0, SIGNATURES_MAX);
    const seals = headers.filter((field) => field.name === 'arc-message-signature');
    for (const field of [...signatures, ...seals]) {
      const tags = readSignatureTags(field.value, { isArc: field.name !== 'dkim-signature' });
      if (!tags.ok || this.#hashes.size >= HASHES_MAX) continue;
      const { bodyForm, algorithm, bodyLength } = tags.value;
      const key = toKey(bodyForm, hashOf(algorithm), bodyLength);
      if (!this.#hashes.has(key)) this.#hashes.set(key, new BodyHash(bodyForm, hashOf(algorithm), bodyLength));
    }
  }
}

const toKey = (form: string, algorithm: string, lengthMax: number | null) => `${form} ${algorithm} ${lengthMax}`;
