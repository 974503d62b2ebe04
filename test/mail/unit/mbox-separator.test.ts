import { describe, expect, it } from 'vitest';
import {
  beginsWithHeader,
  isMboxSeparator,
  parseSeparatorTime,
  type SeparatorContext,
} from '../../../workers/mail/domain/mbox-separator.ts';

const DATED = 'From a@x.test Mon Jan  1 10:00:00 2024';

describe('a line that begins with From', () => {
  const contexts: readonly SeparatorContext[] = ['start', 'blank', 'text'];
  it.each([
    // Columns: a line, the next line, and whether the first one separates messages at the start, after a blank line, and after
    // text.
    [DATED, 'Subject: x', 'yyy'],
    [DATED, 'Odd: x', 'yyy'],
    [DATED, 'text', 'yyn'],
    [DATED, null, 'yyn'],
    [DATED, 'https://x.test', 'yyn'],
    ['From me Mon, 01 Jan 2024 10:00:00 +0000', 'Subject: x', 'yyy'],
    ['From -', 'Subject: x', 'yyn'],
    ['From -', 'Odd: x', 'yyn'],
    ['From -', 'text', 'nnn'],
    ['From -', null, 'nnn'],
    ['From a@x.test', 'Odd: x', 'yyn'],
    ['From a Mo Jan  1 10:00:00 2024', 'Odd: x', 'yyn'],
    ['From here on', 'Subject: x', 'yyn'],
    ['From here on', 'Odd: x', 'ynn'],
    ['From here on', 'text', 'nnn'],
    ['From here on', null, 'nnn'],
  ])('%j before %j separates: %s', (line, next, expected) => {
    expect(contexts.map((context) => (isMboxSeparator(line, next, context) ? 'y' : 'n')).join('')).toBe(expected);
  });
});

it.each([
  ['Subject: x\n\nbody', true],
  ['Subject: x', true],
  ['\nSubject: x', false],
  ['Odd: y\nSubject: x\n', true],
  ['Subject: x\r\n folded\r\n\tagain\r\nOdd: y\r\n\r\nbody', true],
  ['Odd: y\nOther: z\n', false],
  ['Subject: x\ntext\n', false],
  [' folded\nSubject: x\n', false],
  ['Odd: x\n\nSubject: in the body', false],
  ['https://x.test\nSubject: x', false],
  ['', false],
])('the header %j begins a message: %j', (text, expected) => {
  expect(beginsWithHeader(text)).toBe(expected);
});

it.each([
  ['From a Mon Jan  1 10:00:00 2024', '2024-01-01T10:00:00.000Z'],
  ['From a Mon Jan  1 10:00 2024', '2024-01-01T10:00:00.000Z'],
  ['From a Mon Jan 01 10:00:00 +0200 2024', '2024-01-01T08:00:00.000Z'],
  ['From a Mon Jan 01 10:00:00 -0530 2024', '2024-01-01T15:30:00.000Z'],
  ['From a Mon Jan 01 10:00:00 CET 2024', '2024-01-01T10:00:00.000Z'],
  ['From a Mon, 01 Jan 2024 10:00:00 +0200', '2024-01-01T08:00:00.000Z'],
  ['From a Mon, 01 Jan 2024 10:00:00 GMT', '2024-01-01T10:00:00.000Z'],
  ['From a 01-Jan-2024 10:00:00 UTC', '2024-01-01T10:00:00.000Z'],
  ['From a Mon, 01 Jan 2024 10:00:00', '2024-01-01T10:00:00.000Z'],
  ['From a Mon Foo  1 10:00:00 2024', null],
  ['From a Thu Jan  1 00:00:00 1970', '1970-01-01T00:00:00.000Z'],
  ['From a Wed Dec 31 23:59:59 1969', null],
  ['From -', null],
])('the time of %j is %j', (line, time) => {
  const parsed = parseSeparatorTime(line);
  expect(parsed === null ? null : new Date(parsed).toISOString()).toBe(time);
});
