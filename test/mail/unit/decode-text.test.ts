import { describe, expect, it } from 'vitest';
import { decodeText } from '../../../workers/mail/domain/charset.ts';
import { decodeWords, normalizeWords } from '../../../workers/mail/domain/encoded-words.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const swapped = (text: string) => utf16(text).swap16();

describe('text in Unicode', () => {
  it.each([
    ['utf-16', utf16('Grüße'), 'Grüße'],
    ['utf-16', swapped('Grüße'), 'Grüße'],
    ['utf-16', utf16('漢字'), '漢字'],
    ['utf-16', swapped('a漢漢'), 'a漢漢'],
    ['utf-16', utf16('a漢漢'), 'a漢漢'],
    ['utf-16', utf16('\ufeffGrüße'), 'Grüße'],
    ['utf-16', swapped('\ufeffGrüße'), 'Grüße'],
    // The zero bytes suggest the other byte order, but the byte order mark must decide.
    ['utf-16', utf16('\ufeff\u4e00\u4e00\u4e00'), '\u4e00\u4e00\u4e00'],
    ['utf-16', swapped('\ufeff\u4e00\u4e00\u4e00'), '\u4e00\u4e00\u4e00'],
    ['utf-16', utf16('\u4e00a\u4e00b'), '\u4e00a\u4e00b'],
    // Only the first 1,000 bytes show the byte order; the rest would suggest the other one.
    ['utf-16', utf16(`a${'漢'.repeat(499)}${'\u4e00'.repeat(9)}`), `a${'漢'.repeat(499)}${'\u4e00'.repeat(9)}`],
    ['', utf16('\ufeffGrüße'), 'Grüße'],
    ['us-ascii', swapped('\ufeffGrüße'), 'Grüße'],
    ['utf-16', utf16('\uff21a'), '\uff21a'],
    ['utf-16', utf16('þab'), 'þab'],
    ['', bytes('\u00fe\u00fd'), 'þý'],
    ['', bytes('a\u00feb'), 'aþb'],
    ['', bytes('a\u00ffb'), 'aÿb'],
    ['', Buffer.from('\ufeffü'), 'ü'],
    ['utf-8', Buffer.from('\ufeffü'), 'ü'],
    ['utf-7', bytes('+AOQA-x'), 'äx'],
    ['', bytes('\u00ff\u00fd'), 'ÿý'],
    ['utf-32', bytes('\u0000\u0000\u0000A\u0000\u0001\u00f6\u0000'), 'A😀'],
    ['utf-32', bytes('\u00ff\u00fe\u0000\u0000A\u0000\u0000\u0000'), 'A'],
    ['utf-32', bytes('\u0000\u0000\u00fe\u00ff\u0000\u0000\u0000A'), 'A'],
    ['utf-32le', bytes('A\u0000\u0000\u0000\u0000\u00f6\u0001\u0000'), 'A😀'],
    ['ucs-4', bytes('\u0000\u0000\u0000A\u0000\u0000'), 'A'],
    ['utf-32', bytes('\u0000\u0000\u0000A\u0000\u0000\u00fe\u00ff'), 'A\ufeff'],
    ['utf-32', bytes('\u0000\u0010\u00ff\u00ff\u0000\u0011\u0000\u0000'), '\u{10ffff}\ufffd'],
    ['utf-32', bytes('\u0000\u0000\u00d8\u0000'), '\ufffd'],
    ['utf-32', bytes(''), ''],
    ['utf-7', bytes('a+-b +AOQ- +AOQ. + +A +AA c'), 'a+b ä ä. + +A +AA c'],
    ['utf-8', bytes('\u00c3\u00bc\u00ff'), 'ü\ufffd'],
    ['utf-8', bytes('\u00c3\u00bc\u00ff\u00ff'), 'Ã¼ÿÿ'],
    ['utf-8', bytes('a\u00ff'), 'aÿ'],
    ['utf-8', bytes('\u007f\u00ff'), '\u007fÿ'],
  ])('%s: %o', (label, raw, text) => {
    expect(decodeText(raw, label)).toBe(text);
  });
});

describe('the name of a charset', () => {
  it.each([
    [' "KOI8-R" ', '\u00d4', 'т'],
    ['<koi8-r>', '\u00d4', 'т'],
    ['x-koi8-r', '\u00d4', 'т'],
    ['csKOI8R', '\u00d4', 'т'],
    ['koi8_r', '\u00d4', 'т'],
    ['x-mac-cyrillic', '\u0080', 'А'],
    ['cp1251', '\u00c0', 'А'],
    ['ibm-850', '\u0081', 'ü'],
    ['cp00850', '\u0081', 'ü'],
    ['x-mac-greek', '\u0081', '¹'],
    ['mac-greek', '\u0081', '¹'],
    ['x-mac-turkish', '\u00da', 'Ğ'],
    ['x-mac-icelandic', '\u00dc', 'Ð'],
    ['replacement', '\u00fc', 'ü'],
    ['x-user-defined', '\u00fc', 'ü'],
    ['cp850', '\u007f', '\u007f'],
    ['cp864', '\u00ff', '\ufffd'],
    ['latin9', '\u00a4', '€'],
    ['iso-8859-15', '\u00a4', '€'],
    ['latin1', '\u00a4', '¤'],
    ['', '\u00a4', '¤'],
  ])('%j decodes %j', (label, raw, text) => {
    expect(decodeText(bytes(raw), label)).toBe(text);
  });
  it('decodes a long text of a code page in whole', () => {
    const raw = bytes(`${'\u0081'.repeat(8_191)}a\u00e1${'b'.repeat(8_192)}`);
    expect(decodeText(raw, 'cp850')).toBe(`${'ü'.repeat(8_191)}aß${'b'.repeat(8_192)}`);
  });
});

describe('text without a known charset', () => {
  it.each([
    ['us-ascii', '\u001b$@$3\u001b(J', 'こ'],
    ['us-ascii', '\u001b$B$3\u001b(B', 'こ'],
    // A declared encoding must be used. A single escape sequence does not prove ISO-2022-JP.
    ['', '\u001b$B$3\u001b(B', '\u001b$B$3\u001b(B'],
    ['windows-1252', '\u001b$B$3\u001b(B', '\u001b$B$3\u001b(B'],
    ['us-ascii', '\u001b$B$3', '\u001b$B$3'],
    ['us-ascii', 'x\u001b(B', 'x\u001b(B'],
  ])('%j: %j becomes %j', (label, raw, text) => {
    expect(decodeText(bytes(raw), label)).toBe(text);
  });
});

describe('text that switches between tables', () => {
  it.each([
    ['iso-2022-jp', 'a\u001b$B$3$s\u001b(Bb', 'aこんb'],
    ['iso-2022-jp', '\u001b$@$3\u001b(J\\\u001b(Hx', 'こ\\x'],
    ['iso-2022-jp', '\u001b$(@$3\u001b$(B$s', 'こん'],
    ['iso-2022-jp', '\u001b$(D0!', '丂'],
    ['iso-2022-jp', '\u001b$A<:\u001b$(A<:\u001b$(C>H', '己己안'],
    ['iso-2022-jp', '\u001b(I1\u001b(B1', 'ｱ1'],
    // Expect that spaces and line ends are the same in all ISO-2022 tables, and that a line begins in ASCII.
    ['iso-2022-jp', '\u001b$B$3 $s', 'こ ん'],
    ['iso-2022-jp', '\u001b$B$3\nab', 'こ\nab'],
    ['iso-2022-jp', '\u001b$B$3\u007f$s', 'こ\u007fん'],
    ['iso-2022-jp', '\u001b$B$3!!~~', 'こ\u3000\ufffd'],
    ['iso-2022-jp', '\u001bXx', 'Xx'],
    // Half-width katakana as bytes above 127, with and without the controls SO and SI.
    ['iso-2022-jp', '\u00b1x', 'ｱx'],
    ['iso-2022-jp', '\u000e1\u000f1', 'ｱ1'],
    ['iso-2022-jp', '\u000e1\n1', 'ｱ\n1'],
    ['iso-2022-jp-2', '\u001b.A\u001bN|x', 'üx'],
    ['iso-2022-jp-2', '\u001b.F\u001bNax', 'αx'],
    ['iso-2022-jp-2', '\u001bN|', 'ü'],
    ['iso-2022-kr', '\u001b$)C\u000e>H3g\u000f x>', '안녕 x>'],
    ['iso-2022-kr', '\u001b$)C\u000e>H\n>H', '안\n>H'],
    ['iso-2022-cn', '\u001b$)A\u000e=;;;\u000f', '交换'],
    ['iso-2022-jp', '\u001b)I\u000e1', 'ｱ'],
    ['hz', 'a~{<:Ky~}b~~c', 'a己所b~c'],
    ['hz', 'a~\nb', 'ab'],
    ['hz', '~{<:\n<:', '己\n<:'],
    ['hz', '~{<: Ky', '己 所'],
    ['hz', '~{<:\u007fKy', '己\u007f所'],
    ['hz', '~', '~'],
    ['hz', '~{!!~}!', '\u3000!'],
    ['iso-2022-jp-2', '\u001bN', ''],
    ['iso-2022-jp-2', '\u001b.A\u001bN', ''],
    ['iso-2022-jp', 'a\u001b', 'a'],
  ])('%s: %j becomes %j', (label, raw, text) => {
    expect(decodeText(bytes(raw), label)).toBe(text);
  });
  it('may be long', () => {
    const text = 'a'.repeat(70_000);
    expect(decodeText(bytes(`${text}\u001b$B$3\u001b(B${text}`), 'iso-2022-jp')).toBe(`${text}こ${text}`);
  });
});

describe('encoded words', () => {
  it.each([
    ['=?utf-8?Q?=C3?= =?utf-8?Q?=BC?=', 'ü'],
    ['=?utf-8?B?w7w?=', 'ü'],
    ['=?utf-8?B?YWJj?= =?utf-8?B?ZGVm?=', 'abcdef'],
    ['=?utf-8?B?w7w?= =?koi8-r?B?1A?=', 'üт'],
    ['=?utf-8?B?YWJj?= =?utf-8?Q?d?= =?utf-8?B?ZQ==?=', 'abcde'],
    ['=?utf-8?B?w7w=?= =?utf-8?B?w7w=?=', 'üü'],
    ['=?utf-8?B?w?=\r\n =?utf-8?B?7w=?= x', 'ü x'],
    ['=?utf-8?B?w7?= =?utf-8?Q?x?=', '\u00c3x'],
    ['=?utf-8?Q?a?= =?koi8-r?Q?=D4?= =?utf-8?Q?=C3=BC?=', 'aтü'],
    ['=?UTF-8?Q?=C3?= =?utf-8?q?=BC?=', 'ü'],
    ['=?utf-8?Q?a_b?= c =?utf-8?Q?d?=', 'a b c d'],
    ['=?utf-8?Q?漢?=', '漢'],
    ['=?iso-2022-jp?B?GyRCJDM=?= =?iso-2022-jp?B?JDM=?=', 'こ$3'],
    ['"=?utf-8?Q?a?=@far.test"', '"=?utf-8?Q?a?=@far.test"'],
    ['\u00c3\u00bc', 'ü'],
    ['\u00fc', 'ü'],
    ['\u00fc漢', '\u00fc漢'],
    ['plain', 'plain'],
  ])('%j becomes %j', (value, text) => {
    expect(decodeWords(value)).toBe(text);
  });
  it('become one word in UTF-8 before addresses are parsed', () => {
    expect(normalizeWords('=?koi8-r?Q?=D4?= =?koi8-r?Q?,?= <a@far.test>')).toBe('=?utf-8?B?0YIs?= <a@far.test>');
    expect(normalizeWords('\u00fc <a@far.test>')).toBe('ü <a@far.test>');
  });
});
