/** Computes the DKIM body hash (RFC 6376 §3.4.4 relaxed body, §3.7) of a message while it streams, in bounded memory. */
import { createHash } from 'node:crypto';

export interface BodyHasher {
  /** Adds bytes of the message. The first chunk must begin at its first byte. The end of the header is found automatically. */
  push(chunk: Uint8Array): void;
  /** @returns the Base64 of the SHA-256 of the body, for `bh=`. */
  digest(): string;
  /** @returns the header with the CRLF of its last field, but without the empty line. */
  header(): Buffer;
  /** @returns whether any byte of the message was over 127. */
  isEightBit(): boolean;
}

const HEADER_BYTES_MAX = 1024 * 1024;

export function createBodyHasher(): BodyHasher {
  const hash = createHash('sha256');
  let head = Buffer.alloc(0);
  let isBody = false;
  let eightBit = false;
  /** White space and line ends at the end of the body so far. They count only if more text follows. */
  let held = '';
  let isEmpty = true;

  function pushBody(bytes: Uint8Array): void {
    const text = held + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    let end = text.length;
    while (end > 0 && isBlank(text.charCodeAt(end - 1))) end -= 1;
    held = text.slice(end);
    if (end === 0) return;
    isEmpty = false;
    const canonical = text
      .slice(0, end)
      .replace(/[ \t]+/g, ' ')
      .replaceAll(' \r\n', '\r\n');
    hash.update(Buffer.from(canonical, 'latin1'));
  }

  return {
    push(chunk) {
      eightBit ||= hasEightBit(chunk);
      if (isBody) {
        pushBody(chunk);
        return;
      }
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end === -1) {
        if (head.length > HEADER_BYTES_MAX) throw new Error('the header has no end');
        return;
      }
      isBody = true;
      const body = head.subarray(end + 4);
      head = Buffer.from(head.subarray(0, end + 2));
      pushBody(body);
    },
    digest() {
      if (!isEmpty) hash.update('\r\n');
      return hash.digest('base64');
    },
    header: () => head,
    isEightBit: () => eightBit,
  };
}

/** Uses a loop, because a callback per byte takes twice the time. */
function hasEightBit(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at += 1) if ((bytes[at] ?? 0) > 127) return true;
  return false;
}

const isBlank = (code: number): boolean => code === 32 || code === 9 || code === 13 || code === 10;
