/**
 * Reads and writes mbox (RFC 4155's format with mboxrd quoting, see
 * https://www.loc.gov/preservation/digital/formats/fdd/fdd000385.shtml). Our files can be read back byte for byte: each message
 * starts with a block of our own headers with its length, flags, labels, folder and id. A truncated file is therefore detected,
 * and its last id tells where to resume. Files of other programs keep their bytes; `foreign-marks.ts` reads their flags.
 */
import { type MailMarks, readForeignMarks } from './foreign-marks.ts';
import { parseSeparatorTime } from './mbox-separator.ts';
import type { MboxSpan } from './mbox-splitter.ts';

const MARK = 'X-Tessera-Export';
const LF = 0x0a;
const FROM = Buffer.from('From ');

export interface MboxMessage extends MailMarks {
  readonly raw: Uint8Array;
  /** From the separator line; null if it has no time. */
  readonly receivedAt: number | null;
  /** True if there are fewer bytes than the export wrote: the file was truncated inside this message. */
  readonly isCut: boolean;
}

/** Reads a message of an mbox file. `raw` of the result has no separator and none of our own headers. */
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

/** Reads a message that may begin with our block of headers. */
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

/** Decodes percent-encoding. Text that another program wrote is returned unchanged. */
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

/** One message as written to the file, with separator and blank line. */
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
