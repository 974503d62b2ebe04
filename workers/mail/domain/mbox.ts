/**
 * Reads and writes mbox (RFC 4155's format with mboxrd quoting, see
 * https://www.loc.gov/preservation/digital/formats/fdd/fdd000385.shtml). Our files can be read back byte for byte: each message
 * starts with a block of our own headers with its length, flags, labels, folder and id. A truncated file is therefore detected,
 * and its last id tells where to resume. Files of other programs keep their bytes; Status and X-Status headers give the flags.
 */

const MARK = 'X-Tessera-Export';
const LF = 0x0a;
const CR = 0x0d;
const FROM = Buffer.from('From ');

export interface MailMarks {
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  /** Path of the folder; null if the file does not name one. */
  readonly folder: string | null;
}

export interface MboxMessage extends MailMarks {
  readonly raw: Uint8Array;
  /** From the separator line; null if it has no time. */
  readonly receivedAt: number | null;
  /** True if there are fewer bytes than the export wrote: the file was truncated inside this message. */
  readonly isCut: boolean;
}

/** Splits a stream of mbox into messages and holds one at a time. */
export class MboxSplitter {
  readonly #lengthMax: number;
  #rest: Uint8Array[] = [];
  #lines: Uint8Array[] | null = null;
  #length = 0;
  #separator = '';
  #wasBlank = true;

  /** @param lengthMax bytes of one message. A longer one is returned as null. */
  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  *push(chunk: Uint8Array): Generator<MboxMessage | null> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      const line = Buffer.concat([...this.#rest, chunk.subarray(from, end + 1)]);
      this.#rest = [];
      from = end + 1;
      yield* this.#take(line);
    }
    if (from < chunk.length) this.#rest.push(chunk.slice(from));
  }

  *end(): Generator<MboxMessage | null> {
    if (this.#rest.length > 0) yield* this.#take(Buffer.concat(this.#rest));
    this.#rest = [];
    if (this.#lines) yield this.#finish();
    this.#lines = null;
  }

  *#take(line: Buffer): Generator<MboxMessage | null> {
    if (this.#wasBlank && isSeparator(line)) {
      if (this.#lines) yield this.#finish();
      this.#lines = [];
      this.#length = 0;
      this.#separator = line.toString('latin1').trim();
      this.#wasBlank = false;
      return;
    }
    this.#wasBlank = isBlank(line);
    if (!this.#lines) return;
    this.#length += line.length;
    if (this.#length <= this.#lengthMax) this.#lines.push(unquote(line));
  }

  #finish(): MboxMessage | null {
    if (this.#length > this.#lengthMax || !this.#lines) return null;
    const lines = this.#lines;
    // The blank line before the next separator is not part of the message.
    const last = lines.at(-1);
    if (last && isBlank(last)) lines.pop();
    return readMarked(Buffer.concat(lines), parseSeparatorDate(this.#separator));
  }
}

/** Whether a line is only a line end. Compares bytes, not length, because the last line of a file may have no line end. */
const isBlank = (line: Uint8Array): boolean =>
  line.length === 1 ? line[0] === LF : line.length === 2 && line[0] === CR && line[1] === LF;

/** A sentence may also begin with "From". A separator has a time and a year (RFC 4155 §A). */
const isSeparator = (line: Buffer): boolean =>
  line.subarray(0, 5).equals(FROM) && /^From \S+ .*\d\d:\d\d.* \d{4}/.test(line.subarray(0, 500).toString('latin1'));

/** Removes one `>` from `>From `. */
function unquote(line: Buffer): Uint8Array {
  let at = 0;
  while (line[at] === 0x3e) at += 1;
  return at > 0 && line.subarray(at, at + 5).equals(FROM) ? line.subarray(1) : line;
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

/** `From sender Mon Jan  2 15:04:05 2026`, in UTC. */
function parseSeparatorDate(separator: string): number | null {
  const match = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) (?:\S+ )?(\d{4})/.exec(
    separator,
  );
  if (!match) return null;
  const time = Date.parse(`${match[2]} ${match[1]} ${match[4]} ${match[3]} GMT`);
  return Number.isFinite(time) && time >= 0 ? time : null;
}

function formatSeparatorDate(time: number): string {
  const [weekday = '', day = '', month = '', year = '', clock = ''] = new Date(time)
    .toUTCString()
    .replace(',', '')
    .split(' ');
  return `${weekday} ${month} ${day.replace(/^0/, ' ')} ${clock} ${year}`;
}

/** Reads a message with or without our block of headers at its top. */
export function readMarked(bytes: Buffer, receivedAt: number | null): MboxMessage {
  const head = bytes.subarray(0, 20_000).toString('utf8');
  const block = new RegExp(
    `^${MARK}: (\\d+) (\\d+)\\r?\\n((?:X-Tessera-(?:Flags|Labels|Folder|Id): [^\\n]*\\n)*)`,
  ).exec(head);
  if (!block) return { raw: bytes, receivedAt, isCut: false, ...readStatus(head) };
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

/** Reads the flags that other programs store in headers. */
function readStatus(head: string): MailMarks {
  const headers = head.slice(0, /\r?\n\r?\n/.exec(head)?.index ?? head.length);
  const status = /^Status: *(\w*)/im.exec(headers)?.[1] ?? '';
  const extended = /^X-Status: *(\w*)/im.exec(headers)?.[1] ?? '';
  return { isRead: status.includes('R'), isFlagged: extended.includes('F'), labels: [], folder: null };
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
