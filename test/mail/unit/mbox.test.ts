import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMbox, type MboxMessage, readMboxMessage } from '../../../workers/mail/domain/mbox.ts';
import { type MboxSpan, MboxSplitter } from '../../../workers/mail/domain/mbox-splitter.ts';

function split(file: Uint8Array, chunkBytes = file.length || 1, lengthMax = 1e9): (MboxMessage | null)[] {
  const splitter = new MboxSplitter(lengthMax);
  const found: MboxSpan[] = [];
  for (let at = 0; at < file.length; at += chunkBytes) found.push(...splitter.push(file.subarray(at, at + chunkBytes)));
  return [...found, ...splitter.end()].map((span) => (span.kind === 'message' ? readMboxMessage(span) : null));
}
const marks = { isRead: true, isFlagged: false, labels: ['a b', 'ü%'], folder: 'Work/Über' };

describe('mbox', () => {
  it('returns the exported messages byte for byte, for any chunk size', () => {
    const line = fc.constantFrom(
      '',
      'From here',
      '>From there',
      '>>From',
      'Subject: x',
      'From: a',
      '\r',
      'ü',
      'X-Tessera-Export: 1 2',
    );
    const raw = fc
      .tuple(fc.array(line), fc.constantFrom('', '\n', '\r\n'))
      .map(([lines, end]) => Buffer.from(lines.join('\n') + end));
    fc.assert(
      fc.property(fc.array(raw, { maxLength: 5 }), fc.integer({ min: 1, max: 40 }), (messages, chunkBytes) => {
        const time = Date.UTC(2026, 1, 3, 4, 5, 6);
        const file = Buffer.concat(
          messages.map((message) =>
            formatMbox(message, marks, { messageId: 'm', sender: 'a@b.test', receivedAt: time }),
          ),
        );
        const back = split(file, chunkBytes);
        expect(back.map((message) => Buffer.from(message?.raw ?? []).toString())).toEqual(messages.map(String));
        for (const message of back) expect(message).toMatchObject({ ...marks, receivedAt: time });
      }),
    );
  });

  it('reads files of other programs with their dates and flags', () => {
    const file = Buffer.from(
      'From a@b.test Tue Feb  3 04:05:06 2026\nSubject: one\nStatus: RO\nX-Status: F\n\nbody\n>From me\n\nFrom c@d.test Wed Feb  4 00:00:00 2026\nSubject: two\n\nFrom inside a paragraph\n',
    );
    const [first, second, ...rest] = split(file, 7);
    expect(rest).toEqual([]);
    expect(first).toMatchObject({
      isRead: true,
      isFlagged: true,
      folder: null,
      receivedAt: Date.UTC(2026, 1, 3, 4, 5, 6),
    });
    expect(Buffer.from(first?.raw ?? []).toString()).toBe('Subject: one\nStatus: RO\nX-Status: F\n\nbody\nFrom me\n');
    expect(second).toMatchObject({ isRead: false, receivedAt: Date.UTC(2026, 1, 4) });
  });

  it('reports a message that is too long, and continues with the next', () => {
    const file = Buffer.from(
      `From a Tue Feb  3 04:05:06 2026\n\n${'x'.repeat(100)}\n\nFrom b Tue Feb  3 04:05:06 2026\n\nshort\n`,
    );
    expect(split(file, 10, 50).map((message) => message?.raw.length ?? null)).toEqual([null, 7]);
  });
});
