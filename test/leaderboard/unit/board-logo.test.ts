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
const vp8 = (width: number, height: number) => `VP8 ....${' '.repeat(6)}${little(width, 2)}${little(height, 2)}`;
const vp8l = (width: number, height: number) => `VP8L....\x2f${little(width - 1 + ((height - 1) << 14), 4)}`;
const vp8x = (width: number, height: number) => `VP8X........${little(width - 1, 3)}${little(height - 1, 3)}`;

describe('the logo of a board', () => {
  it('may be a PNG or a WebP of each kind', () => {
    expect(readLogoType(png(64, 32))).toBe('image/png');
    expect(readLogoType(png(1024, 1024))).toBe('image/png');
    for (const chunk of [vp8, vp8l, vp8x]) {
      for (const size of [1, 64, 1024]) expect(readLogoType(webp(chunk(size, size)))).toBe('image/webp');
    }
    // VP8 stores scaling in the two bits above each size. The size must be read without them.
    expect(readLogoType(webp(vp8(64 | 0x4000, 32 | 0xc000)))).toBe('image/webp');
    // A complete WebP file of one pixel.
    const dot = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64');
    expect(readLogoType(dot)).toBe('image/webp');
  });

  it('is not larger than 1024 pixels or 64 KB', () => {
    expect(readLogoType(png(1025, 1))).toBeNull();
    expect(readLogoType(png(0, 5))).toBeNull();
    for (const chunk of [vp8, vp8l, vp8x]) {
      expect(readLogoType(webp(chunk(1025, 1)))).toBeNull();
      expect(readLogoType(webp(chunk(1, 1025)))).toBeNull();
    }
    expect(readLogoType(webp(vp8(0, 1)))).toBeNull();
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
  });

  it('is complete, and says what it is in each place', () => {
    const good = webp(vp8x(1, 1));
    const changed = (bytes: Uint8Array, at: number) => bytes.with(at, (bytes[at] ?? 0) ^ 1);
    for (const at of [0, 3, 8, 11, 12, 15]) expect(readLogoType(changed(good, at))).toBeNull();
    for (const at of [0, 7, 12, 15]) expect(readLogoType(changed(png(1, 1), at))).toBeNull();
    for (const extra of [-1, 1]) expect(readLogoType(webp(vp8x(1, 1), extra))).toBeNull();
    expect(readLogoType(webp(vp8x(1, 1).replace('VP8X', 'ALPH')))).toBeNull();
    expect(readLogoType(bytesOf(`RIFF${little(8, 4)}WEBPVP8 `))).toBeNull();
  });
});
