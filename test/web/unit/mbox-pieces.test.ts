import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastCut, MessageCounter } from '../../../web/mail/transfer/mbox-pieces.ts';
import { formatMbox } from '../../../workers/mail/domain/mbox.ts';
import { MboxSplitter } from '../../../workers/mail/domain/mbox-splitter.ts';

const encoder = new TextEncoder();
/** Generates lines: mbox separators, lines that resemble them, and lines around them. */
const line = fc.constantFrom(
  'From a@x.test Sat Jan 10 10:00:00 2026',
  'From a@x.test Sat Jan 10 10:00:00 +0100 2026',
  'From here on it was easy.',
  'From: a@x.test',
  '>From a@x.test Sat Jan 10 10:00:00 2026',
  'Subject: x',
  '',
  '',
  'ä 漢 text',
);
const file = fc.tuple(fc.array(line, { maxLength: 40 }), fc.constantFrom('\n', '\r\n')).map(([lines, end]) => {
  return encoder.encode(['From a@x.test Sat Jan 10 10:00:00 2026', ...lines].join(end) + end);
});

function messagesOf(...pieces: Uint8Array[]): string[] {
  return pieces.flatMap((piece) => {
    const splitter = new MboxSplitter(1_000_000);
    return [...splitter.push(piece), ...splitter.end()].map((one) => Buffer.from(one.raw).toString());
  });
}

describe('a piece of an mbox file', () => {
  it('ends before a message, so that the pieces contain the same messages as the whole file', () => {
    fc.assert(
      fc.property(file, fc.double({ min: 0, max: 1, noNaN: true }), (bytes, part) => {
        const piece = bytes.subarray(0, Math.round(bytes.length * part));
        const cut = lastCut(piece);
        if (cut === 0) return;
        expect(messagesOf(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(messagesOf(bytes));
      }),
      { numRuns: 500 },
    );
  });

  it('ends before the last message with a whole separator, and is not cut if there is only one', () => {
    const two = encoder.encode('From a Sat Jan 10 10:00:00 2026\n\nOne\n\nFrom b Sat Jan 10 10:00:00 2026\n\nTwo\n');
    const three = encoder.encode(`${new TextDecoder().decode(two)}\nFrom c Sat Jan 10 10:00:00 20`);
    const cut = lastCut(two);
    expect(new TextDecoder().decode(two.subarray(cut))).toMatch(/^From b/);
    expect(lastCut(three)).toBe(cut);
    expect(lastCut(two.subarray(0, cut))).toBe(0);
    expect(lastCut(new Uint8Array())).toBe(0);
  });
});

describe('the number of messages in an export', () => {
  it('does not depend on how the stream is cut into chunks', () => {
    const body = fc.array(line, { maxLength: 12 }).map((lines) => encoder.encode(lines.join('\r\n')));
    const marks = { isRead: true, isFlagged: false, labels: [], folder: 'Inbox' };
    fc.assert(
      fc.property(fc.array(body, { maxLength: 6 }), fc.integer({ min: 1, max: 90 }), (bodies, size) => {
        const whole = Buffer.concat(
          bodies.map((raw) =>
            formatMbox(raw, marks, { messageId: 'm1', sender: 'a@x.test', receivedAt: 1_768_000_000_000 }),
          ),
        );
        const counter = new MessageCounter();
        for (let at = 0; at < whole.length; at += size) counter.push(whole.subarray(at, at + size));
        expect(counter.count).toBe(bodies.length);
      }),
      { numRuns: 300 },
    );
  });
});
