/** Reads a gzipped tar of messages (USTAR, names under 100 bytes). */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

export function* readCorpus(path: string): Generator<{ name: string; raw: Uint8Array }> {
  const tar = gunzipSync(readFileSync(path));
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const field = (from: number, length: number) =>
      tar
        .toString('latin1', at + from, at + from + length)
        .replace(/\0.*$/s, '')
        .trim();
    const size = Number.parseInt(field(124, 12), 8);
    if (field(0, 100).endsWith('.eml')) yield { name: field(0, 100), raw: tar.subarray(at + 512, at + 512 + size) };
    at += 512 + Math.ceil(size / 512) * 512;
  }
}
