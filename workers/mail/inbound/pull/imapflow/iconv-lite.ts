/**
 * Stands in for `iconv-lite` in imapflow. A pull needs one encoding of it: modified UTF-7 for names of folders (RFC 3501 §5.1.3). The
 * package has 400 KB of tables of character sets.
 */

function check(encoding: string): void {
  if (encoding !== 'utf-7-imap') throw new Error(`The Worker has no ${encoding} for imapflow.`);
}

export function encode(text: string, encoding: string): Buffer {
  check(encoding);
  const encoded = text.replace(/&|[^\x20-\x7e]+/g, (run) => {
    if (run === '&') return '&-';
    const base64 = Buffer.from(run, 'utf16le').swap16().toString('base64');
    return `&${base64.replace(/=+$/, '').replaceAll('/', ',')}-`;
  });
  return Buffer.from(encoded);
}

export function decode(bytes: Buffer, encoding: string): string {
  check(encoding);
  return bytes.toString().replace(/&([A-Za-z0-9+,]*)(?:-|(?![A-Za-z0-9+,]))/g, (_run, base64: string) => {
    if (base64 === '') return '&';
    const units = Buffer.from(base64.replaceAll(',', '/'), 'base64');
    return Buffer.from(units.subarray(0, units.length & ~1))
      .swap16()
      .toString('utf16le');
  });
}

export default { encode, decode };
