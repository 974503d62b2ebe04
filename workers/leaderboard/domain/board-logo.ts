/** Decides which files may be the logo of a board. SVG is refused, because it can contain scripts. Pure. */

export const LOGO_BYTES_MAX = 65_536;
/** Maximum width and height of a logo, because a small file can unpack to a huge picture. */
export const LOGO_PIXELS_MAX = 1_024;

const HEADER_BYTES = 30;

export type LogoType = 'image/png' | 'image/webp';

const startsAt = (bytes: Uint8Array, at: number, text: string): boolean =>
  [...text].every((char, index) => bytes[at + index] === char.charCodeAt(0));

/**
 * Reads type and size of a picture from its bytes.
 * @returns null if they are not a complete PNG or WebP of at most 1024 by 1024 pixels.
 */
export function readLogoType(bytes: Uint8Array): LogoType | null {
  if (bytes.length < HEADER_BYTES || bytes.length > LOGO_BYTES_MAX) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isSmall = (width: number, height: number) =>
    Math.min(width, height) > 0 && Math.max(width, height) <= LOGO_PIXELS_MAX;
  // A PNG has a signature, the chunk IHDR first and the chunk IEND last (PNG specification §5.2, §11.2.2 and §11.2.5).
  if (startsAt(bytes, 0, '\x89PNG\r\n\x1a\n') && startsAt(bytes, 12, 'IHDR'))
    return startsAt(bytes, bytes.length - 8, 'IEND') && isSmall(view.getUint32(16), view.getUint32(20))
      ? 'image/png'
      : null;
  // The RIFF size in a WebP is that of the file without its first 8 bytes (RFC 9649 §2).
  const isWebp =
    startsAt(bytes, 0, 'RIFF') && startsAt(bytes, 8, 'WEBP') && view.getUint32(4, true) + 8 === bytes.length;
  const size = isWebp ? readWebpSize(bytes, view) : null;
  return size !== null && isSmall(...size) ? 'image/webp' : null;
}

/** Reads the size of a WebP picture from its first chunk (RFC 9649 §2.5 to §2.7). */
function readWebpSize(bytes: Uint8Array, view: DataView): [width: number, height: number] | null {
  if (startsAt(bytes, 12, 'VP8 ')) return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (startsAt(bytes, 12, 'VP8L')) {
    const bits = view.getUint32(21, true);
    return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
  }
  if (!startsAt(bytes, 12, 'VP8X')) return null;
  return [(view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1];
}
