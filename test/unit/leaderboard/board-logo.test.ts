import { describe, expect, it } from 'vitest';
import { LOGO_BYTES_MAX, readLogoType } from '../../../workers/leaderboard/domain/board-logo.ts';

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));
const uint32 = (value: number) => {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32BE(value);
  return buffer.toString('latin1');
};
const png = (width: number, height: number, padding = 0) =>
  bytesOf(
    `\x89PNG\r\n\x1a\n\0\0\0\rIHDR${uint32(width)}${uint32(height)}\x08\x06\0\0\0....${' '.repeat(padding)}\0\0\0\0IEND....`,
  );
const little = (value: number, length: number) => {
  const buffer = Buffer.alloc(length);
  buffer.writeUIntLE(value, 0, length);
  return buffer.toString('latin1');
};
const webp = (chunk: string, extra = 0) => {
  const body = `WEBP${chunk}${' '.repeat(40)}`;
  return bytesOf(`RIFF${little(body.length + extra, 4)}${body}`);
};

describe('the logo of a board', () => {
  it('may be a PNG or a WebP of each kind', () => {
    expect(readLogoType(png(64, 32))).toBe('image/png');
    expect(readLogoType(png(1024, 1024))).toBe('image/png');
    expect(readLogoType(webp(`VP8 ....${' '.repeat(6)}${little(64, 2)}${little(32, 2)}`))).toBe('image/webp');
    expect(readLogoType(webp(`VP8L....\x2f${little(63 | (31 << 14), 4)}`))).toBe('image/webp');
    expect(readLogoType(webp(`VP8X........${little(1023, 3)}${little(1023, 3)}`))).toBe('image/webp');
  });

  it('is not larger than 1024 pixels or 64 KB', () => {
    expect(readLogoType(png(1025, 1))).toBeNull();
    expect(readLogoType(png(0, 5))).toBeNull();
    expect(readLogoType(webp(`VP8X........${little(1024, 3)}${little(0, 3)}`))).toBeNull();
    expect(readLogoType(webp(`VP8X........${little(0, 3)}${little(1024, 3)}`))).toBeNull();
    expect(readLogoType(webp(`VP8L....\x2f${little(1024, 4)}`))).toBeNull();
    const room = LOGO_BYTES_MAX - png(1, 1).length;
    expect(readLogoType(png(1, 1, room))).toBe('image/png');
    expect(readLogoType(png(1, 1, room + 1))).toBeNull();
  });

  it('is not SVG, HTML, JPEG, GIF, a part of a file or nothing, whatever its name says', () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    for (const text of [svg, `<!doctype html>${svg}`, `\xff\xd8\xff\xe0${svg}`, `GIF89a${svg}`, ''])
      expect(readLogoType(bytesOf(text))).toBeNull();
    expect(readLogoType(png(1, 1).subarray(0, -1))).toBeNull();
    expect(readLogoType(bytesOf(`\x89PNG\r\n\x1a\n${svg}`))).toBeNull();
    expect(readLogoType(webp('VP8 ....', 1))).toBeNull();
    expect(readLogoType(webp('ALPH....'))).toBeNull();
  });
});
