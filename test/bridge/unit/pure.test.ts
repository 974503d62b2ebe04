import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../bridge/session/account-api.ts';
import { findSection, toBodyStructure } from '../../../bridge/session/answers/body-structure.ts';
import { toEnvelope } from '../../../bridge/session/answers/envelope.ts';
import { selectFields } from '../../../bridge/session/answers/header.ts';
import { parseDateTime, parseDay, toDateTime, toImapString } from '../../../bridge/session/answers/strings.ts';
import { decodeName, encodeName, toFlag, toKeyword } from '../../../bridge/session/mailbox-name.ts';
import { parseSequenceSet, selectNumbers, toSequenceText } from '../../../bridge/session/sequence-set.ts';

describe('names and flags', () => {
  it('encodes the examples of RFC 3501', () => {
    expect(encodeName('~peter/mail/台北/日本語')).toBe('~peter/mail/&U,BTFw-/&ZeVnLIqe-');
    expect(encodeName('R&D')).toBe('R&-D');
    expect(decodeName('&Jjo-!')).toBe('☺!');
    expect(decodeName('&Jjo')).toBeNull();
  });
  it('returns each name and each label as it was', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (name) => decodeName(encodeName(name)) === name));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (label) => {
        const keyword = label.toLowerCase();
        const flag = toFlag(keyword);
        expect(flag).toMatch(/^[^\s(){%*"\]\\]+$|^\\[A-Z][a-z]+$/);
        expect(toKeyword(flag)).toBe(keyword);
      }),
    );
    expect(toKeyword('\\Recent')).toBeNull();
  });
});

describe('sets', () => {
  it('selects like a naive reading of RFC 3501', () => {
    const end = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant('*' as const));
    const range = fc.tuple(end, fc.option(end, { nil: undefined }));
    const numbers = fc
      .uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 12 })
      .map((list) => list.sort((a, b) => a - b));
    fc.assert(
      fc.property(fc.array(range, { minLength: 1, maxLength: 4 }), numbers, (ranges, list) => {
        const text = ranges.map(([one, other]) => (other === undefined ? `${one}` : `${one}:${other}`)).join(',');
        const last = list.at(-1) ?? 0;
        const value = (each: number | '*') => (each === '*' ? last : each);
        const expected = list.filter((number) =>
          ranges.some(([one, other = one]) => {
            const [from, to] = [value(one), value(other)].sort((a, b) => a - b) as [number, number];
            return number >= from && number <= to;
          }),
        );
        expect(selectNumbers(parseSequenceSet(text) ?? [], list)).toEqual(expected);
      }),
    );
  });
  it('writes the shortest text and refuses what is no set', () => {
    expect(toSequenceText([1, 2, 3, 7, 9, 10])).toBe('1:3,7,9:10');
    for (const text of ['', '0', '1,', 'a', '1:2:3', '-1', '1 2']) expect(parseSequenceSet(text)).toBeNull();
  });
});

describe('answers', () => {
  it('quotes what may be quoted, and sends the rest as a literal', () => {
    expect(toImapString('a "b" \\')).toBe('"a \\"b\\" \\\\"');
    expect(toImapString('J\xf6rg')).toBe('{4}\r\nJ\xf6rg');
  });
  it('writes and reads times', () => {
    expect(toDateTime(Date.UTC(2026, 10, 5, 1, 2, 3))).toBe('" 5-Nov-2026 01:02:03 +0000"');
    expect(parseDateTime(' 5-Nov-2026 01:02:03 +0130')).toBe(Date.UTC(2026, 10, 4, 23, 32, 3));
    expect([parseDateTime('5-Foo-2026 01:02:03 +0000'), parseDay('5-Nov-26'), parseDay('31-Dec-2025')]).toEqual([
      null,
      null,
      Date.UTC(2025, 11, 31),
    ]);
  });
  it('tells groups, folded and missing addresses in an envelope', () => {
    expect(toEnvelope('To: Friends: a@x.test, "B, C" <b@x.test>;\r\nSubject: a\r\n b\r\n\r\n')).toBe(
      '(NIL "a b" NIL NIL NIL ((NIL NIL "Friends" NIL)(NIL NIL "a" "x.test")("B, C" NIL "b" "x.test")(NIL NIL NIL NIL)) NIL NIL NIL NIL)',
    );
  });
  it('selects header fields with their folded lines', () => {
    const header = 'A: 1\r\nB: 2\r\n folded\r\na: 3\r\n\r\n';
    expect(selectFields(header, ['b'], false)).toBe('B: 2\r\n folded\r\n\r\n');
    expect(selectFields(header, ['B'], true)).toBe('A: 1\r\na: 3\r\n\r\n');
  });
});

describe('structures', () => {
  const part = (given: Partial<Part>): Part => ({
    type: 'text',
    subtype: 'plain',
    parameters: {},
    encoding: '7bit',
    octets: 1,
    lines: 1,
    start: 0,
    body: 10,
    end: 20,
    ...given,
  });
  const inner = part({
    type: 'multipart',
    subtype: 'mixed',
    start: 60,
    body: 70,
    end: 100,
    parts: [part({ start: 71, body: 72, end: 80 })],
  });
  const top = part({
    type: 'multipart',
    subtype: 'mixed',
    end: 110,
    parts: [
      part({ start: 20, body: 25, end: 30 }),
      part({ type: 'message', subtype: 'rfc822', start: 50, body: 60, end: 100, message: inner }),
    ],
  });
  it('finds sections in parts and enclosed messages', () => {
    expect(findSection(top, [], 'TEXT')).toEqual({ from: 10, to: 110 });
    expect(findSection(top, [2], 'HEADER')).toEqual({ from: 60, to: 70 });
    expect(findSection(top, [2, 1], null)).toEqual({ from: 72, to: 80 });
    expect(findSection(top, [2, 1], 'MIME')).toEqual({ from: 71, to: 72 });
    expect([findSection(top, [3], null), findSection(top, [1, 1], null), findSection(top, [1], 'HEADER')]).toEqual([
      null,
      null,
      null,
    ]);
    expect(findSection(part({}), [1], null)).toEqual({ from: 10, to: 20 });
  });
  it('tells them', () => {
    expect(
      toBodyStructure(
        part({ disposition: { type: 'attachment', parameters: { filename: '\xc3\xbc' } }, language: ['de', 'en'] }),
        true,
      ),
    ).toBe('("TEXT" "PLAIN" NIL NIL NIL "7BIT" 1 1 NIL ("ATTACHMENT" ("FILENAME" {2}\r\n\xc3\xbc)) ("de" "en") NIL)');
    expect(toBodyStructure(top, false)).toContain(
      '("MESSAGE" "RFC822" NIL NIL NIL "7BIT" 1 (NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL) (("TEXT"',
    );
  });
});
