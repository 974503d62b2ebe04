/** Files that old mail programs put into text: `begin 644 name`, lines of a length and its bytes, `end` (POSIX uuencode). */

const FILES_MAX = 100;

export function decodeUuencoded(text: Uint8Array): { name: string; content: Uint8Array }[] {
  const buffer = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  if (!buffer.includes('begin ')) return [];
  const files: { name: string; content: Uint8Array }[] = [];
  let open: { name: string; lines: Buffer[] } | null = null;
  for (const line of buffer.toString('latin1').split(/\r?\n/)) {
    const begin = /^begin [0-7]{3,4} (\S.{0,200})$/.exec(line);
    if (begin?.[1] !== undefined && files.length < FILES_MAX) open = { name: begin[1].trim(), lines: [] };
    else if (open !== null && (line === 'end' || line === '`' || line === '' || line === ' ')) {
      if (open.lines.length > 0) files.push({ name: open.name, content: Buffer.concat(open.lines) });
      open = null;
    } else if (open !== null) open.lines.push(decodeLine(line));
  }
  return files;
}

function decodeLine(line: string): Buffer {
  const length = (line.charCodeAt(0) - 32) & 63;
  const values = Array.from(line.slice(1), (character) => (character.charCodeAt(0) - 32) & 63);
  const bytes: number[] = [];
  for (let at = 0; at < values.length && bytes.length < length; at += 4) {
    const [a = 0, b = 0, c = 0, d = 0] = values.slice(at, at + 4);
    bytes.push((a << 2) | (b >> 4), ((b & 15) << 4) | (c >> 2), ((c & 3) << 6) | d);
  }
  return Buffer.from(bytes.slice(0, length));
}
