/** Tests limits and odd input of JMAP: header fields, keywords, patches and snippets. */
import { describe, expect, it } from 'vitest';
import { isKeyword, toKeywords, toLabel, toMarks } from '../../../../workers/mail/domain/keywords.ts';
import {
  foldField,
  toAddressesValue,
  toDateValue,
  toGroupsValue,
  toMessageIdsValue,
  toParameter,
  toTextValue,
  toUrlsValue,
} from '../../../../workers/mail/jmap/domain/compose-headers.ts';
import { markPreview, markSubject, toWords } from '../../../../workers/mail/jmap/domain/highlight.ts';
import { applyPatch } from '../../../../workers/mail/jmap/domain/patch.ts';
import { type EarlierAnswer, resolveReferences } from '../../../../workers/mail/jmap/domain/result-references.ts';
import { RequestBudget } from '../../../../workers/shared/pure/request-budget.ts';

describe('a header field', () => {
  it('has lines of at most 76 characters, unless one word is longer', () => {
    const fold = (...lengths: number[]) =>
      foldField('X', lengths.map((length) => 'a'.repeat(length)).join(' '))
        .split('\r\n')
        .map((line) => line.length);
    expect(fold(73)).toEqual([76]);
    expect(fold(36, 36)).toEqual([76]);
    expect(fold(36, 37)).toEqual([39, 38]);
    expect(fold(90, 5)).toEqual([93, 6]);
    expect(fold(5, 90, 5)).toEqual([8, 91, 6]);
  });

  it.each([
    ['Hello, world', 'Hello, world'],
    ['two\r\nlines\0 ', 'two lines'],
    ['x=?y', '=?utf-8?B?eD0/eQ==?='],
    ['ü', '=?utf-8?B?w7w=?='],
    ['a'.repeat(199), 'a'.repeat(199)],
    ['', ''],
  ])('has the text %j as %j', (text, value) => {
    expect(toTextValue(text)).toBe(value);
  });
  it('has a word of 200 characters in encoded words, which can be folded', () => {
    expect(toTextValue('a'.repeat(200))).toMatch(/^=\?utf-8\?B\?\S+\?= =\?utf-8\?B\?/);
  });

  it.each([
    [{ email: ' a@x.test ' }, 'a@x.test'],
    [{ name: null, email: '<a@x.test>' }, 'a@x.test'],
    [{ name: '', email: 'a@x.test\r\nBcc: b@x.test' }, 'a@x.testBcc:b@x.test'],
    [{ name: 'Ann Lee', email: 'a@x.test' }, 'Ann Lee <a@x.test>'],
    [{ name: 'Lee, Ann "A" \\', email: 'a@x.test' }, '"Lee, Ann \\"A\\" \\\\" <a@x.test>'],
    [{ name: 'a=?b', email: 'a@x.test' }, '=?utf-8?B?YT0/Yg==?= <a@x.test>'],
    [{ name: '.=?b', email: 'a@x.test' }, '=?utf-8?B?Lj0/Yg==?= <a@x.test>'],
    [{ name: 'Zoé', email: 'a@x.test' }, '=?utf-8?B?Wm/DqQ==?= <a@x.test>'],
  ])('names %j as %j', (person, value) => {
    expect(toAddressesValue([person])).toBe(value);
  });
  it('has groups with a name and people without a group', () => {
    const [ann, bob] = [{ email: 'a@x.test' }, { email: 'b@x.test' }];
    const groups = [{ name: 'Team', addresses: [ann, bob] }, { name: null, addresses: [bob] }, { addresses: [ann] }];
    expect(toGroupsValue(groups)).toBe('Team: a@x.test, b@x.test;, b@x.test, a@x.test');
    expect(toGroupsValue([{ name: '', addresses: [] }])).toBe(': ;');
  });
  it('has ids and addresses of pages in angle brackets', () => {
    expect(toMessageIdsValue(['a@x.test', ' <b@x.test> ', 'ü@x.test'])).toBe('<a@x.test> <b@x.test>');
    expect(toUrlsValue(['https://x.test/a', ' <https://x.test/b>\r\n'])).toBe('<https://x.test/a>, <https://x.test/b>');
  });

  it.each([
    ['2026-01-01T00:30:00+01:00', 'Thu, 01 Jan 2026 00:30:00 +0100'],
    ['2026-01-01T00:30:00-05:30', 'Thu, 01 Jan 2026 00:30:00 -0530'],
    ['2026-01-01T00:30:00+00:45', 'Thu, 01 Jan 2026 00:30:00 +0045'],
    ['2026-01-01T00:30:00Z', 'Thu, 01 Jan 2026 00:30:00 +0000'],
  ])('has the date %s as %s', (date, value) => {
    expect(toDateValue(date)).toBe(value);
  });

  it.each([
    ['a b.txt', '; n="a b.txt"'],
    ['a\\b', '; n="a\\\\b"'],
    ['a\r\nb', '; n="a b"'],
    ["ü'(1)*", "; n*=utf-8''%C3%BC%27%281%29%2A"],
  ])('has the parameter %j as %j', (value, parameter) => {
    expect(toParameter('n', value)).toBe(parameter);
  });
});

describe('a snippet', () => {
  const cjk = toWords([{ text: '東京', match: 'phrase' }]);
  it('marks the run of a CJK text that has the phrase', () => {
    expect(markSubject('昨日東京都へ, foo', cjk)).toBe('<mark>昨日東京都へ</mark>, foo');
    expect(markSubject('京東', cjk)).toBeNull();
    expect([
      ...cjk.words,
      ...toWords([
        { text: 'foo bar', match: 'phrase' },
        { text: 'baz', match: 'phrase' },
      ]).words,
    ]).toEqual(['foo', 'bar', 'baz']);
  });
  it('marks whole words of other scripts only', () => {
    expect(markSubject('foobar foo', toWords([{ text: 'foo', match: 'phrase' }]))).toBe('foobar <mark>foo</mark>');
    expect(markSubject('foobar fo', toWords([{ text: 'foo', match: 'word' }]))).toBe('<mark>foobar</mark> fo');
  });
  it('escapes the text before, between and after the hits', () => {
    expect(markSubject('<a> foo <b> foo <c>', toWords([{ text: 'foo', match: 'phrase' }]))).toBe(
      '&lt;a&gt; <mark>foo</mark> &lt;b&gt; <mark>foo</mark> &lt;c&gt;',
    );
  });
  it('of a body begins up to 40 characters before the first hit', () => {
    const words = toWords([{ text: 'foo', match: 'phrase' }]);
    const hitAfter = (length: number) => `${'-'.repeat(length)}foo`;
    expect(markPreview(hitAfter(40), words)).toBe(`${'-'.repeat(40)}<mark>foo</mark>`);
    expect(markPreview(`+${hitAfter(40)}`, words)).toBe(`${'-'.repeat(40)}<mark>foo</mark>`);
    expect(markPreview('  foo\n\n  bar ', words)).toBe('<mark>foo</mark> bar');
    expect(markPreview('bar', words)).toBeNull();
  });
  it('of a body has 180 characters, or fewer if they need more than 255 bytes', () => {
    const words = toWords([{ text: 'foo', match: 'phrase' }]);
    const shown = (character: string) => markPreview(`foo ${character.repeat(400)}`, words) ?? '';
    expect(shown('a')).toBe(`<mark>foo</mark> ${'a'.repeat(176)}`);
    // A preview has at most 255 bytes. The marks have 13 and `foo ` has 4: with 116 two-byte letters it has 249, with 136 it would
    // have 289.
    expect(shown('é')).toBe(`<mark>foo</mark> ${'é'.repeat(116)}`);
    expect(shown('<')).toBe(`<mark>foo</mark> ${'&lt;'.repeat(56)}`);
    // Exactly 255 bytes: 13 for the marks, and 180 characters of which 62 have two bytes.
    const mixed = (count: number) => markPreview(`foo ${'é'.repeat(count)}${'x'.repeat(300)}`, words) ?? '';
    expect([mixed(62), mixed(63)].map((html) => Buffer.byteLength(html))).toEqual([255, 236]);
    // A found word must never be cut, even if it exceeds the limit.
    expect(markPreview(`${'漢'.repeat(90)}東京`, cjk)).toBe(`<mark>${'漢'.repeat(90)}東京</mark>`);
  });
});

describe('keywords', () => {
  const none = { isDraft: false, isRead: false, isFlagged: false, isAnswered: false, isForwarded: false, labels: [] };
  it.each([
    ['isDraft', '$draft'],
    ['isRead', '$seen'],
    ['isFlagged', '$flagged'],
    ['isAnswered', '$answered'],
    ['isForwarded', '$forwarded'],
  ])('%s is %s', (flag, keyword) => {
    expect(toKeywords({ ...none, [flag]: true })).toEqual({ [keyword]: true });
    expect(toMarks([keyword.toUpperCase()]).marks).toMatchObject({ [flag]: true });
    expect(toMarks(['other']).marks).toEqual({ ...none, labels: ['other'] });
  });
  it('have up to 255 characters, and labels of up to 100', () => {
    expect([isKeyword('a'.repeat(255)), isKeyword('a'.repeat(256)), isKeyword('')]).toEqual([true, false, false]);
    expect(toLabel('a'.repeat(100))).toBe('a'.repeat(100));
    expect(toLabel('a'.repeat(101))).toBeNull();
    expect(toLabel('a b')).toBeNull();
  });
  it('that cannot be stored are returned, and are no labels', () => {
    const { marks, bad } = toMarks(['a b', 'work', '$seen']);
    expect([marks.labels, marks.isRead, bad]).toEqual([['work'], true, ['a b']]);
  });
  it('replace labels that are not valid keywords', () => {
    const keywordOf = (label: string) => Object.keys(toKeywords({ ...none, labels: [label] }));
    expect(keywordOf('work')).toEqual(['work']);
    expect(keywordOf('Work')).toEqual(['label-576f726b']);
    expect(keywordOf('a b')).toEqual(['label-612062']);
    expect(keywordOf('label-61')).toEqual(['label-6c6162656c2d3631']);
    expect(toMarks(['label-576f726b', 'WORK']).marks.labels).toEqual(['Work', 'work']);
  });
});

describe('a patch', () => {
  it('removes members of a member by null, and sets its own members to null', () => {
    expect(applyPatch({ a: { b: 1 }, c: 1 }, { 'a/b': null, c: null })).toEqual({ a: {}, c: null });
  });
  it.each([
    [
      { a: 1, b: 2 },
      { a: 1, b: 2 },
    ],
    [{ 'x/a': 1, 'x/b': 2 }, { x: { a: 1, b: 2 } }],
    [{ 'x/a': 1, 'x/a/b': 2 }, null],
    [{ 'x/a/b': 1, x: 2 }, null],
    [{ 'n/a': 1 }, null],
    [{ 'n/a/b': 1 }, null],
    [{ 's/a/b': 1 }, null],
    [{ 'x/a': 1, 'x/ab': 2 }, { x: { a: 1, ab: 2 } }],
    [{ 's/a': 1 }, null],
    [{ 'l/0': 1 }, null],
    [{ 'l/0/a': 1 }, null],
    [{ 'x/toString/a': 1 }, null],
    [{ 'x/~01': 1 }, { x: { '~1': 1 } }],
  ])('%j makes %j', (patch, result) => {
    const patched = applyPatch({ x: {}, n: null, s: 'text', l: [{}] }, patch);
    if (result === null) expect(patched).toBeNull();
    else expect(patched).toMatchObject(result);
  });
});

describe('a result reference', () => {
  const answers = [
    { name: 'A/get', callId: 'c', args: { list: [{ id: 1 }, { id: 2 }], none: [], text: 'x', nil: null } },
  ];
  const source = (from: readonly EarlierAnswer[]) => ({
    answers: from,
    referencesMax: 1,
    budget: new RequestBudget(1_000),
  });
  const resolve = (path: string) => {
    const found = resolveReferences({ other: 7, '#ids': { resultOf: 'c', name: 'A/get', path } }, source(answers));
    return found.ok ? found.value : null;
  };
  it.each([
    ['', { list: [{ id: 1 }, { id: 2 }], none: [], text: 'x', nil: null }],
    ['/list/0/id', 1],
    ['/list/10/id', null],
    ['/none/*/id', []],
    ['/nil', null],
    ['/text', 'x'],
  ])('to %j is %j', (path, value) => {
    const isFound = value !== null || path === '/nil';
    expect(resolve(path)).toEqual(isFound ? { other: 7, ids: value } : null);
  });
  it.each(['/text/length', '/nil/x', '/list/length', '/list/-1', '/list/', '/toString', 'x'])(
    'to %j leads nowhere',
    (path) => {
      expect(resolve(path)).toBeNull();
    },
  );
  it('to lists of lists joins the outer ones only', () => {
    const nested = [{ name: 'A/get', callId: 'c', args: { list: [{ of: [[1], [2]] }, { of: [[3]] }] } }];
    const found = resolveReferences({ '#ids': { resultOf: 'c', name: 'A/get', path: '/list/*/of' } }, source(nested));
    expect(found).toEqual({ ok: true, value: { ids: [[1], [2], [3]] } });
  });
  it('without one of its members says which it must have', () => {
    for (const member of ['resultOf', 'name', 'path']) {
      const reference = { resultOf: 'c', name: 'A/get', path: '/list', [member]: undefined };
      expect(resolveReferences({ '#ids': reference }, source(answers))).toMatchObject({
        error: { description: 'A result reference has resultOf, name and path.' },
      });
    }
  });
  it.each([
    { resultOf: 7, name: 'A/get', path: '/list' },
    { resultOf: 'c', name: 7, path: '/list' },
    { resultOf: 'c', name: 'A/get', path: 7 },
    { resultOf: 'c', name: 'A/set', path: '/list' },
    { resultOf: 'd', name: 'A/get', path: '/list' },
  ])('%j is refused', (reference) => {
    expect(resolveReferences({ '#ids': reference }, source(answers))).toMatchObject({
      ...{ ok: false, error: { type: 'invalidResultReference' } },
    });
  });
});
