/**
 * Tests mbox files as other programs write them, well-formed and damaged: every message must be found, every byte accounted for.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMbox, readMboxMessage } from '../../../workers/mail/domain/mbox.ts';
import { type MboxSpan, MboxSplitter } from '../../../workers/mail/domain/mbox-splitter.ts';
import { stepsOf } from '../../leaderboard/unit/random.ts';

function split(file: Uint8Array, chunkBytes = file.length || 1): MboxSpan[] {
  const splitter = new MboxSplitter(100_000);
  const spans: MboxSpan[] = [];
  for (let at = 0; at < file.length; at += chunkBytes) spans.push(...splitter.push(file.subarray(at, at + chunkBytes)));
  return [...spans, ...splitter.end()];
}

/** Describes each span of a file: its kind, with the subjects inside it, so that two messages in one span are noticed. */
function summary(file: string | Uint8Array): string[] {
  return split(Buffer.from(file)).map(({ kind, raw }) => {
    const subjects = [
      ...Buffer.from(raw)
        .toString()
        .matchAll(/^Subject: (\w+)/gm),
    ].map(([, word]) => word);
    return kind === 'message' ? subjects.join('+') : kind;
  });
}

const DATED = 'From a@x.test Mon Jan  1 10:00:00 2024';
const message = (subject: string, separator: string, body = 'body\n') =>
  `${separator}\nFrom: a@x.test\nSubject: ${subject}\n\n${body}`;
const three = (separator: string, gap = '\n') =>
  ['one', 'two', 'three'].map((name) => message(name, separator)).join(gap);
const lengths = (bodies: readonly string[], separator: string, gap = '\n') =>
  bodies
    .map((body, n) => `${separator}\nSubject: m${n}\nContent-Length: ${Buffer.byteLength(body)}\n\n${body}`)
    .join(gap);

describe('separators', () => {
  it.each([
    ['with a date', DATED],
    ['without a sender', 'From  Mon Jan  1 10:00:00 2024'],
    ['of Netscape and Thunderbird', 'From - Mon Jan  1 10:00:00 2024'],
    ['of Takeout', 'From 1844347792267117879@xxx Mon Jan 01 10:00:00 +0000 2024'],
    ['of Takeout without a date', 'From 1844347792267117879@xxx'],
    ['of Eudora', 'From ???@??? Mon Jan 01 10:00:00 2024'],
    ['of Eudora without a date', 'From ???@???'],
    ['with a dash only', 'From -'],
    ['with nothing', 'From '],
    ['with a date as in a header', 'From a@x.test Mon, 01 Jan 2024 10:00:00 +0000'],
    ['with a time without seconds', 'From a@x.test Mon Jan  1 10:00 2024'],
    ['with a zone before the year', 'From a@x.test Mon Jan  1 10:00:00 CET 2024'],
    ['with a sender with blanks', 'From "A B" <a@x.test> Mon Jan  1 10:00:00 2024'],
    ['with a date in German', 'From a@x.test Mo Jan  1 10:00:00 2024'],
    ['of UUCP', 'From a Mon Jan  1 10:00:00 2024 remote from host'],
  ])('%s are found', (_, separator) => {
    expect(summary(three(separator))).toEqual(['one', 'two', 'three']);
    expect(summary(three(separator).replaceAll('\n', '\r\n'))).toEqual(['one', 'two', 'three']);
  });

  it('are found with a date and no blank line before them', () => {
    expect(summary(three(DATED, ''))).toEqual(['one', 'two', 'three']);
  });
  it('are found after a byte order mark and blank lines', () => {
    expect(summary(`\ufeff${three(DATED)}`)).toEqual(['one', 'two', 'three']);
    expect(summary(`\n\r\n${three('From -')}`)).toEqual(['one', 'two', 'three']);
  });
  it('are found at the start of the file before an unusual header, also after blank lines', () => {
    const first = 'From somebody else\nFoo: 1\n\nSubject: one\n';
    for (const before of ['', '\n', '\n\n', '\ufeff', '\ufeff\n'])
      expect(summary(`${before}${first}`), JSON.stringify(before)).toEqual(['one']);
    for (const before of ['text\n', 'text\n\n']) expect(summary(`${before}${first}`)).toEqual(['no_separator']);
  });
  it('are not found in the middle of a line, however long', () => {
    const line = 'y'.repeat(64 * 1024);
    for (const tail of [0, 1, 2_000]) {
      const file = Buffer.from(`${message('one', DATED)}\n${line.slice(tail)}${message('two', DATED)}`);
      const start = file.indexOf('yyy');
      const splitter = new MboxSplitter(100_000_000);
      const spans = [
        file.subarray(0, start),
        file.subarray(start, start + line.length),
        file.subarray(start + line.length),
      ];
      expect([...spans.flatMap((bytes) => [...splitter.push(bytes)]), ...splitter.end()]).toHaveLength(1);
    }
  });
  it('may change their form within a file', () => {
    expect(summary([message('one', DATED), message('two', 'From -'), message('three', DATED)].join('\n'))).toEqual([
      'one',
      'two',
      'three',
    ]);
  });
  it.each([
    'From Monday 10:00 on we meet, as in 2024 before.\n',
    'From Bob\nwith love\n',
    'From \n',
    'From the pages\nhttps://example.test/\n',
    'From here on:\nNote: read this\n',
    '>From a@x.test Mon Jan  1 10:00:00 2024\nSubject: quoted\n',
    '\ufeffFrom a@x.test Mon Jan  1 10:00:00 2024\nSubject: marked\n',
    'From: b@x.test\nTo: c@x.test\n',
    'Fromage at 10:00 2024\nSubject: cheese\n',
  ])('are not sentences: %j', (text) => {
    const file = `${message('one', DATED, `Hello\n\n${text}\n`)}\n${message('two', DATED)}`;
    expect(split(Buffer.from(file))).toHaveLength(2);
  });
});

describe('Content-Length', () => {
  const inner = 'a\n\nFrom b@x.test Mon Jan  1 10:00:00 2024\nSubject: inner\n\nb\n';
  it('delimits bodies with unquoted separators (mboxcl2), which keep their quotes', () => {
    const spans = split(Buffer.from(lengths([`${inner}>From c\n`, 'x\n', inner], DATED)));
    expect(spans.map(({ raw }) => Buffer.from(raw).toString().split('\n\n').slice(1).join('\n\n'))).toEqual([
      `${inner}>From c\n`,
      'x\n',
      inner,
    ]);
  });
  it('delimits bodies without blank lines between messages', () => {
    expect(summary(lengths([inner, 'x\n', inner], DATED, ''))).toEqual(['m0+inner', 'm1', 'm2+inner']);
  });
  it('finds separators that only it can find', () => {
    expect(summary(lengths(['x\n', 'y\n', 'z\n'], 'From somebody else', ''))).toEqual(['m0', 'm1', 'm2']);
  });
  it.each([
    ['too small', (right: number) => right - 3],
    ['too large', (right: number) => right + 7],
    ['past the end of the file', (right: number) => right + 5_000],
    ['huge', () => 999_999_999_999],
    ['zero', () => 0],
  ])('is ignored if it is %s', (_, wrong) => {
    const body = 'a\n';
    const one = `${DATED}\nSubject: one\nContent-Length: ${wrong(body.length)}\n\n${body}`;
    const file = [one, message('two', DATED), one, message('four', 'From -')].join('\n');
    expect(summary(file)).toEqual(['one', 'two', 'one', 'four']);
  });
  it('shows that the last message was cut, if the lengths before were right', () => {
    const file = lengths(['x\n', 'y\n', 'a long last body\n'], DATED);
    const cut = split(Buffer.from(file.slice(0, -9)));
    expect(cut.map((span) => readMboxMessage(span).isCut)).toEqual([false, false, true]);
    const second = split(Buffer.from(lengths(['x\n', 'a long last body\n'], DATED).slice(0, -9)));
    expect(second.map((span) => readMboxMessage(span).isCut)).toEqual([false, true]);
    const unknown = split(Buffer.from(lengths(['a long body\n'], DATED).slice(0, -5)));
    expect(unknown.map((span) => readMboxMessage(span).isCut)).toEqual([false]);
    const wrong = `${DATED}\nSubject: w\nContent-Length: 1\n\nlonger\n\n${lengths(['a long body\n'], DATED).slice(0, -5)}`;
    expect(split(Buffer.from(wrong)).map((span) => readMboxMessage(span).isCut)).toEqual([false, false]);
  });
  it('may be wrong by one line end, and not by more', () => {
    const file = (length: number, gap: string) =>
      [0, 1].map((n) => `From somebody\r\nSubject: m${n}\r\nContent-Length: ${length}\r\n\r\nbody\r\n`).join(gap);
    for (const gap of ['', '\r\n', '\r\n\r\n'])
      expect(
        [3, 4, 6].map((length) => summary(file(length, gap))),
        JSON.stringify(gap),
      ).toEqual([...[gap === '' ? ['m0+m1'] : ['m0', 'm1'], ['m0', 'm1'], ['m0', 'm1']]]);
  });
  it('finds a separator that only it can find, after any number of blank lines', () => {
    const file = (length: number, gap: string) =>
      [0, 1].map((n) => `From somebody\r\nFoo: ${n}\r\nContent-Length: ${length}\r\n\r\nbody\r\n`).join(gap);
    for (const gap of ['', '\r\n', '\r\n\r\n\r\n'])
      expect(
        [3, 4, 6].map((length) => split(Buffer.from(file(length, gap))).length),
        JSON.stringify(gap),
      ).toEqual([...[1, 2, 2]]);
  });
  it('keeps blank lines at the end of a body', () => {
    for (const gap of ['', '\n']) {
      const bodies = split(Buffer.from(lengths(['x\n\n', 'y\n', 'z\n\n\n'], DATED, gap))).map(({ raw, isCut }) => [
        Buffer.from(raw)
          .toString()
          .replace(/^.*?\n\n/s, ''),
        isCut,
      ]);
      expect(bodies).toEqual([
        ['x\n\n', false],
        ['y\n', false],
        ['z\n\n\n', false],
      ]);
    }
  });
  it('is ignored if the message would be longer than the maximum', () => {
    const one = `${DATED}\nSubject: one\nContent-Length: `;
    const rest = `x\n\n${message('two', DATED)}\n${message('three', DATED)}`;
    const of = (length: number, lengthMax: number) => {
      const splitter = new MboxSplitter(lengthMax);
      const spans = [...splitter.push(Buffer.from(`${one}${length}\n\n${rest}`)), ...splitter.end()];
      return spans.map(
        ({ raw }) =>
          Buffer.from(raw)
            .toString()
            .match(/^Subject/gm)?.length,
      );
    };
    const upToThree = 3 + message('two', DATED).length;
    const header = `Subject: one\nContent-Length: ${upToThree}\n\n`.length;
    expect(of(upToThree, header + upToThree + 1)).toEqual([2, 1]);
    expect(of(upToThree, header + upToThree - 1)).toEqual([1, 1, 1]);
    expect(of(upToThree - 5, header + upToThree)).toEqual([1, 1, 1]);
    expect(of(900_000, 100)).toEqual([1, 1, 1]);
  });
  it('is ignored in our own files, which are quoted', () => {
    const format = (subject: string, field: string) =>
      formatMbox(
        Buffer.from(`Subject: ${subject}\n${field}\nbody\n`),
        { isRead: false, isFlagged: false, labels: [], folder: null },
        { messageId: subject, sender: 'a@x.test', receivedAt: 0 },
      ).toString();
    const two = format('two', '');
    const length = 'body\n\n'.length + two.length;
    expect(summary(format('one', `Content-Length: ${length}\n`) + two + format('three', ''))).toEqual([
      ...['one', 'two', 'three'],
    ]);
  });
});

describe('bytes without a separator', () => {
  it('are a message if they begin with its header', () => {
    const eml = 'Received: by x.test\n\tfor a\nFrom: a@x.test\nSubject: single\n\nFrom the text\n\n';
    expect(summary(eml)).toEqual(['single']);
    expect(split(Buffer.from(eml)).map(({ raw }) => Buffer.from(raw).toString())).toEqual([eml]);
    expect(summary(`${eml}\n${three('From -')}`)).toEqual(['single', 'one', 'two', 'three']);
  });
  it.each([
    ['a zip', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(300_000, 7)])],
    ['text', Buffer.from('no mail\n')],
    ['blank lines', Buffer.from('\n\n\r\n')],
    ['the end of a message', Buffer.from('of a sentence.\n\n-- \nAnn\n')],
    ['only carriage returns', Buffer.from(three(DATED).replaceAll('\n', '\r').slice(5))],
  ])('are reported: %s', (_, bytes) => {
    expect(split(bytes)).toMatchObject([{ kind: 'no_separator', offset: 0, sizeBytes: bytes.length }]);
    expect(summary(Buffer.concat([bytes, Buffer.from(`\n\n${three(DATED)}`)])).slice(-2)).toEqual(['two', 'three']);
  });
});

it('accounts for every byte of any file, for any chunk size', () => {
  const line = fc.constantFrom(
    DATED,
    'From -',
    'From Monday on',
    '>From x',
    'Subject: x',
    'Content-Length: 9',
    'Content-Length: 40',
    'Content-Length: 90000',
    'X-Tessera-Export: 5 1',
    '\ufeff',
    '',
    '',
    'ä text',
    '\r',
    '\0',
    'y'.repeat(70_000),
  );
  const file = fc
    .tuple(fc.array(line, { maxLength: 40 }), fc.constantFrom('\n', '\r\n'), fc.constantFrom('', '\n'))
    .map(([lines, end, last]) => Buffer.from(lines.join(end) + last));
  fc.assert(
    fc.property(file, fc.integer({ min: 1, max: 100_000 }), (bytes, chunkBytes) => {
      const spans = split(bytes, chunkBytes);
      let at = 0;
      for (const { offset, sizeBytes } of spans) {
        expect(offset).toBe(at);
        expect(sizeBytes).toBeGreaterThan(0);
        at += sizeBytes;
      }
      expect(at).toBe(bytes.length);
      const plain = (each: MboxSpan) => ({ ...each, raw: Buffer.from(each.raw).toString('latin1') });
      expect(spans.map(plain)).toEqual(split(bytes).map(plain));
    }),
    { numRuns: stepsOf(500) },
  );
});
