import { describe, expect, it } from 'vitest';
import type { MailMarks } from '../../../workers/mail/domain/foreign-marks.ts';
import { formatMbox, readMarked, readMboxMessage } from '../../../workers/mail/domain/mbox.ts';
import { MboxSplitter } from '../../../workers/mail/domain/mbox-splitter.ts';

const TIME = Date.UTC(2026, 1, 3, 4, 5, 6);
const NONE: MailMarks = { isRead: false, isFlagged: false, labels: [], folder: null };
const SEPARATOR = 'From a@b.test Tue Feb  3 04:05:06 2026\n';
const split = (file: string, lengthMax = 1e9) => {
  const splitter = new MboxSplitter(lengthMax);
  const spans = [...splitter.push(Buffer.from(file)), ...splitter.end()].filter(({ kind }) => kind !== 'no_separator');
  return spans.map((span) => (span.kind === 'message' ? readMboxMessage(span) : null));
};
const texts = (file: string, lengthMax?: number) =>
  split(file, lengthMax).map((message) => message && Buffer.from(message.raw).toString());
const format = (raw: string, marks = NONE, sender = 'a@b.test') =>
  formatMbox(Buffer.from(raw), marks, { messageId: 'm1', sender, receivedAt: TIME }).toString();

describe('an mbox file', () => {
  it('begins with its first separator', () => {
    expect(texts(`rubbish\n\n${SEPARATOR}A: 1\n\nx\n`)).toEqual(['A: 1\n\nx\n']);
    expect(texts('no mail\n')).toEqual([]);
    expect(texts('')).toEqual([]);
  });
  it('has separators only after blank lines, with a time and a year', () => {
    expect(texts(`${SEPARATOR}A: 1\n\nx\n${SEPARATOR}y\n`)).toEqual([`A: 1\n\nx\n${SEPARATOR}y\n`]);
    expect(texts(`${SEPARATOR}A: 1\n\nFrom me at 10:30\n`)).toEqual(['A: 1\n\nFrom me at 10:30\n']);
    expect(texts(`${SEPARATOR}A: 1\r\n\r\nx\r\n\r\n${SEPARATOR}B: 2\n`)).toEqual(['A: 1\r\n\r\nx\r\n', 'B: 2\n']);
    expect(texts(`${SEPARATOR}A: 1\n\n${SEPARATOR}${SEPARATOR}`)).toEqual(['A: 1\n', SEPARATOR]);
  });
  it('loses one blank line at the end of a message, and no other line', () => {
    expect(texts(`${SEPARATOR}a\n\n\n`)).toEqual(['a\n\n']);
    expect(texts(`${SEPARATOR}a\n\r\n`)).toEqual(['a\n']);
    expect(texts(`${SEPARATOR}a\nx`)).toEqual(['a\nx']);
    expect(texts(`${SEPARATOR}a\nxy`)).toEqual(['a\nxy']);
    expect(texts(`${SEPARATOR}a\n\rx`)).toEqual(['a\n\rx']);
    expect(texts(`${SEPARATOR}`)).toEqual(['']);
  });
  it('loses one > before From, and nowhere else', () => {
    expect(texts(`${SEPARATOR}>From a\n>>From b\n>Fro\n> From\n>x\n`)).toEqual(['From a\n>From b\n>Fro\n> From\n>x\n']);
    const others = '>from a\n>Frim a\n>Fron a\n>From\ta\n>From:\n';
    expect(texts(`${SEPARATOR}${others}`)).toEqual([others]);
    expect(texts(`Subject: a\n\n>From a\n`)).toEqual(['Subject: a\n\n>From a\n']);
  });
  it('has messages up to a maximum length', () => {
    const [short, long] = [`${SEPARATOR}1234\n\n`, `${SEPARATOR}12345\n\n`];
    expect(texts(short + long + short, 6)).toEqual(['1234\n', null, '1234\n']);
    expect(texts(`${SEPARATOR}a: 1\n\n${SEPARATOR}`, 5)).toEqual([null, '']);
    expect(texts(`${SEPARATOR}12345\n`, 6)).toEqual(['12345\n']);
    const [line, end] = ['x'.repeat(70_000), 'y'.repeat(5_000)];
    expect(texts(`${SEPARATOR}${line}${end}\n`, 75_001)).toEqual([`${line}${end}\n`]);
  });
  it('accepts several date forms in separators, and ignores invalid dates', () => {
    const dateOf = (line: string) => split(`${line}\nA: 1\n`)[0]?.receivedAt;
    expect(dateOf('From a Tue Feb  3 04:05:06 2026')).toBe(TIME);
    expect(dateOf('From a Tue Feb 13 04:05:06 CET 2026')).toBe(TIME + 10 * 86_400_000);
    expect(dateOf('From a 3 Feb 04:05:06 2026')).toBeNull();
    expect(dateOf('From a Thu Jan  1 00:00:00 1970')).toBe(0);
    expect(dateOf('From a Wed Dec 31 23:59:59 1969')).toBeNull();
    expect(dateOf('From a Tue Xxx  3 04:05:06 2026')).toBeNull();
  });
});

describe('an exported message', () => {
  it('begins with its separator and mailbox state, and ends with a blank line', () => {
    const marks = { isRead: true, isFlagged: true, labels: ['a b', 'c'], folder: 'Work/Über' };
    expect(format('A: 1\n', marks)).toBe(
      [
        'From a@b.test Tue Feb  3 04:05:06 2026',
        `X-Tessera-Export: 5 ${TIME}`,
        'X-Tessera-Flags: RF',
        'X-Tessera-Labels: a%20b c',
        'X-Tessera-Folder: Work%2F%C3%9Cber',
        'X-Tessera-Id: m1',
        'A: 1\n\n',
      ].join('\n'),
    );
    expect(format('x', NONE, 'a b')).toContain('From MAILER-DAEMON Tue');
    expect(format('x').endsWith('m1\nx\n\n')).toBe(true);
    expect(format('x')).toContain('X-Tessera-Flags: -\nX-Tessera-Labels: \nX-Tessera-Folder: \n');
  });
  it('has > before every line that begins with From, quoted or not', () => {
    const body = (raw: string) => format(raw).split('m1\n')[1];
    expect(body('From a\nx\n>From b\n')).toBe('>From a\nx\n>>From b\n\n');
    expect(body('x\nFrom')).toBe('x\nFrom\n\n');
    expect(body('x\n\nFrom ')).toBe('x\n\n>From \n\n');
    expect(body('>>')).toBe('>>\n\n');
    expect(body('')).toBe('\n\n');
  });
  it('is imported with its marks, time and bytes, and shows whether it was cut', () => {
    const marks = { isRead: false, isFlagged: true, labels: ['100%'], folder: null };
    const [whole] = split(format('A: 1\n\nFrom x', marks));
    expect({ ...whole, raw: String(whole?.raw) }).toEqual({
      ...marks,
      raw: 'A: 1\n\nFrom x',
      receivedAt: TIME,
      isCut: false,
    });
    const cut = split(format('A: 1\n\nlong text').slice(0, -6))[0];
    expect([String(cut?.raw), cut?.isCut]).toEqual(['A: 1\n\nlong ', true]);
  });
  it('keeps labels that are not percent-encoded', () => {
    const text = 'X-Tessera-Export: 1 5\r\nX-Tessera-Labels: a%zz  b\r\nX-Tessera-Flags: R\r\nx';
    expect(readMarked(Buffer.from(text), null)).toMatchObject({
      labels: ['a%zz', 'b'],
      isRead: true,
      receivedAt: 5,
      folder: null,
    });
  });
});

describe('a message of another program', () => {
  it('has its flags in Status and X-Status, in its header only', () => {
    const marksOf = (text: string) => {
      const { isRead, isFlagged } = readMarked(Buffer.from(text), null);
      return [isRead, isFlagged];
    };
    expect(marksOf('status: OR\r\nX-Status: AF\r\n\r\n')).toEqual([true, true]);
    expect(marksOf('Status: O\nX-Status: A\n\n')).toEqual([false, false]);
    expect(marksOf('A: 1\n\nStatus: R\nX-Status: F\n')).toEqual([false, false]);
    expect(marksOf('Status: R')).toEqual([true, false]);
    expect(readMarked(Buffer.from('A: 1\n'), 7)).toEqual({
      ...NONE,
      raw: Buffer.from('A: 1\n'),
      receivedAt: 7,
      isCut: false,
    });
  });
});
