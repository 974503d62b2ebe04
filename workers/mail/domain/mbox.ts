/**
 * Reads and writes mbox: RFC 4155's format with mboxrd quoting (see
 * https://www.loc.gov/preservation/digital/formats/fdd/fdd000385.shtml). Our own exports can be read back byte for byte. Each of
 * their messages begins with a block of our own headers: length, flags, labels, folder and id. By the length, a truncated file is
 * detected; its last id tells where to resume the export. Messages of other programs are read unchanged; `foreign-marks.ts` reads
 * their flags.
 */
import { type MailMarks, readForeignMarks } from './foreign-marks.ts';
import { parseSeparatorTime } from './mbox-separator.ts';
import type { MboxSpan } from './mbox-splitter.ts';

const MARK = 'X-Tessera-Export';
const LF = 0x0a;
const FROM = Buffer.from('From ');

export interface MboxMessage extends MailMarks {
  readonly raw: Uint8Array;
  /** Time in the separator line, milliseconds since 1970; null if it has none. */
  readonly receivedAt: number | null;
  /** True if the message has fewer bytes than the export wrote, because the file was truncated inside it. */
  readonly isCut: boolean;
}

/** Reads a message of an mbox file. `raw` of the result contains neither the separator nor our own headers. */
export function readMboxMessage(span: MboxSpan): MboxMessage {
  const message = readMarked(Buffer.from(span.raw), parseSeparatorTime(span.separator));
  return span.isCut ? { ...message, isCut: true } : message;
}

function quote(raw: Uint8Array): Buffer {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (let start = 0; start < raw.length; ) {
    let at = start;
    while (raw[at] === 0x3e) at += 1;
    if (Buffer.from(raw.buffer, raw.byteOffset + at, Math.min(5, raw.length - at)).equals(FROM)) {
      pieces.push(raw.subarray(from, start), Buffer.from('>'));
      from = start;
    }
    const end = raw.indexOf(LF, start);
    if (end === -1) break;
    start = end + 1;
  }
  pieces.push(raw.subarray(from));
  return Buffer.concat(pieces);
}

function formatSeparatorDate(time: number): string {
  const [weekday = '', day = '', month = '', year = '', clock = ''] = new Date(time)
    .toUTCString()
    .replace(',', '')
    .split(' ');
  return `${weekday} ${month} ${day.replace(/^0/, ' ')} ${clock} ${year}`;
}

/** Reads a message that may begin with the block of headers of our own exports. */
export function readMarked(bytes: Buffer, receivedAt: number | null): MboxMessage {
  const head = bytes.subarray(0, 20_000).toString('utf8');
  const block = new RegExp(
    `^${MARK}: (\\d+) (\\d+)\\r?\\n((?:X-Tessera-(?:Flags|Labels|Folder|Id): [^\\n]*\\n)*)`,
  ).exec(head);
  if (!block) return { raw: bytes, receivedAt, isCut: false, ...readForeignMarks(head) };
  const field = (name: string) => new RegExp(`^X-Tessera-${name}: ([^\\r\\n]*)`, 'm').exec(block[3] ?? '')?.[1] ?? '';
  const start = Buffer.byteLength(block[0]);
  const labels = field('Labels')
    .split(' ')
    .filter((label) => label !== '')
    .map(decodeText);
  const raw = bytes.subarray(start, start + Number(block[1]));
  return {
    raw,
    receivedAt: Number(block[2]),
    isCut: raw.length < Number(block[1]),
    isRead: field('Flags').includes('R'),
    isFlagged: field('Flags').includes('F'),
    labels,
    folder: field('Folder') === '' ? null : decodeText(field('Folder')),
  };
}

/** Decodes percent-encoding. Text that is not valid percent-encoding, because another program wrote it, is returned unchanged. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export interface MboxEnvelope {
  readonly messageId: string;
  readonly sender: string;
  readonly receivedAt: number;
}

/** Formats a message for an mbox file, with its separator and the blank line after it. */
export function formatMbox(raw: Uint8Array, marks: MailMarks, { messageId, sender, receivedAt }: MboxEnvelope): Buffer {
  const from = /^[!-~]+$/.test(sender) ? sender : 'MAILER-DAEMON';
  const block = [
    `From ${from} ${formatSeparatorDate(receivedAt)}`,
    `${MARK}: ${raw.byteLength} ${receivedAt}`,
    `X-Tessera-Flags: ${marks.isRead ? 'R' : '-'}${marks.isFlagged ? 'F' : ''}`,
    `X-Tessera-Labels: ${marks.labels.map(encodeURIComponent).join(' ')}`,
    `X-Tessera-Folder: ${encodeURIComponent(marks.folder ?? '')}`,
    `X-Tessera-Id: ${messageId}`,
  ].join('\n');
  const endsLine = raw.at(-1) === LF;
  return Buffer.concat([Buffer.from(`${block}\n`), quote(raw), Buffer.from(endsLine ? '\n' : '\n\n')]);
}
