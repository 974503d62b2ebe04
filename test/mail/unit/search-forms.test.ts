import { describe, expect, it } from 'vitest';
import { toBaseSubject, toSubjectPart } from '../../../durable-objects/mail/domain/base-subject.ts';
import { QUERY_LENGTH_MAX } from '../../../durable-objects/mail/domain/search-query.ts';
import { countNeedles, makeSnippet, toNeedles } from '../../../durable-objects/mail/domain/snippet.ts';
import {
  findRuns,
  isCjk,
  toIndexText,
  toInflections,
  toPhrase,
  toTerms,
} from '../../../workers/mail/domain/search-text.ts';
import { parsedQuery, readQuery } from '../../support/mail/search-query.ts';

const NOW = Date.UTC(2026, 10, 22, 12);
const parsed = (query: string) => parsedQuery(query, NOW);
const refusal = (query: string) => {
  const result = readQuery(query, NOW);
  return result.ok ? null : [result.error.at, result.error.message];
};
const word = (text: string) => ({ kind: 'text', place: 'any', text, match: 'word' });

describe('a word in a script with marks, or without spaces', () => {
  const finds = (document: string, query: string): boolean => {
    const terms = toTerms(document);
    const phrase = toPhrase(query);
    return terms.some((_, from) =>
      phrase.every(({ term, isPrefix }, at) => {
        const found = terms[from + at] ?? '';
        return isPrefix ? found.startsWith(term) : found === term;
      }),
    );
  };
  it.each([
    ['Thai', 'การประชุมพรุ่งนี้', ['ประชุม', 'พรุ่งนี้', 'การ'], ['ประชา']],
    ['Lao', 'ກອງປະຊຸມມື້ອື່ນ', ['ປະຊຸມ', 'ມື້ອື່ນ'], ['ປະຊາ']],
    ['Khmer', 'ការប្រជុំថ្ងៃស្អែក', ['ប្រជុំ', 'ស្អែក'], ['ប្រជា']],
    ['Burmese', 'မနက်ဖြန်အစည်းအဝေး', ['အစည်းအဝေး', 'မနက်ဖြန်'], ['အစား']],
    ['Arabic', 'المكتبة الكُبرى', ['الكبرى', 'الكُبرى', 'المكتبة'], ['كبرى']],
    ['Arabic with a long line', 'الـكتاب', ['الكتاب'], []],
    ['Hebrew', 'שָׁלוֹם עולם', ['שלום', 'שָׁלוֹם'], ['של']],
    ['Turkish', 'IĞDIR ılık TOPLANTISI', ['ığdır', 'ilik', 'toplantisi', 'Iğdır', 'TOPLANTISI', 'toplantısı'], []],
    ['Turkish with a dot', 'İstanbul', ['istanbul', 'İSTANBUL', 'ıstanbul'], []],
    ['Hindi, whose marks are letters', 'नमस्ते दुनिया', ['नमस्ते'], ['नमसत']],
  ])('is found in %s', (_, document, queries, others) => {
    expect(queries.filter((query) => !finds(document, query))).toEqual([]);
    expect(others.filter((query) => finds(document, query))).toEqual([]);
  });
  it('is a digit of its own too', () => {
    expect(finds('ห้อง ๑๒๓', '๑๒๓')).toBe(true);
  });
});

describe('the limits of a search query', () => {
  it('are 1,000 characters, 50 terms and 10 levels', () => {
    expect(QUERY_LENGTH_MAX).toBe(1000);
    expect(refusal('a'.repeat(1000))).toBeNull();
    expect(refusal('a'.repeat(1001))).toEqual([1000, 'A query has at most 1000 characters.']);
    expect(refusal('a '.repeat(50))).toBeNull();
    expect(refusal('a '.repeat(51))).toEqual([0, 'A query has at most 50 terms.']);
    expect(refusal(`${'('.repeat(10)}a${')'.repeat(10)}`)).toBeNull();
    expect(refusal(`${'('.repeat(11)}a${')'.repeat(11)}`)).toEqual([11, 'Parentheses may be nested at most 10 deep.']);
    expect(refusal(`${'NOT '.repeat(10)}a`)).toBeNull();
    expect(refusal(`${'NOT '.repeat(11)}a`)).toEqual([40, 'Negations may be nested at most 10 deep.']);
    // Operators and parentheses must not count as terms.
    expect(refusal('-a OR '.repeat(49).concat('a'))).toBeNull();
  });
});

describe('a search query', () => {
  it('is null if it is empty', () => {
    expect([parsed(''), parsed(' \t ')]).toEqual([null, null]);
  });
  it('points at the character that is wrong', () => {
    expect(refusal('a "b')).toEqual([2, 'Unmatched quotation mark.']);
    expect(refusal('from:"b')).toEqual([5, 'Unmatched quotation mark.']);
    expect(refusal('a from: b')).toEqual([2, '"from:" needs a value.']);
    expect(refusal('a OR')).toEqual([2, 'OR needs a term after it.']);
    expect(refusal('a OR OR b')).toEqual([2, 'OR needs a term after it.']);
    expect(refusal('(a OR) b')).toEqual([3, 'OR needs a term after it.']);
    expect(refusal('a (OR b)')).toEqual([3, 'OR needs a term before it.']);
    expect(refusal('a NOT')).toEqual([5, 'A term is missing here.']);
    expect(refusal('(NOT) b')).toEqual([4, 'A term is missing here.']);
    expect(refusal('a (b')).toEqual([2, 'Unmatched "(".']);
    expect(refusal('a ()')).toEqual([3, 'Empty parentheses.']);
    expect(refusal('a (&)')).toEqual([3, 'The query has no term to search for.']);
    expect(refusal('&')).toEqual([0, 'The query has no term to search for.']);
    expect(refusal('a *')).toEqual([2, 'This term has no word to search for.']);
    expect(refusal('a "&"')).toEqual([2, 'This term has no word to search for.']);
    expect(refusal('from:&')).toEqual([0, 'This term has no word to search for.']);
    expect(refusal('a has:cake')).toEqual([2, '"has:" takes attachment.']);
    expect(refusal('is:')).toEqual([0, '"is:" needs a value.']);
    for (const wrong of [
      'before:2026-13',
      'before:2026-02-30',
      'after:2026-01-32',
      'after:2026-01-01T25:00Z',
      'after:26',
      'after:May',
      'after:2026-00-10',
      'after:2026-01-00',
      'after:2026-04-99',
    ]) {
      expect(refusal(`a ${wrong}`)).toEqual([2, 'Write a date as 2026-01-31.']);
    }
    expect(refusal('""')).toEqual([0, 'This term has no word to search for.']);
    expect(refusal('from:"')).toEqual([5, 'Unmatched quotation mark.']);
    expect(refusal('a larger:1T')).toEqual([2, 'Write a size as 500, 10K, 5M or 1G.']);
  });
  it('reads every form of date, in UTC', () => {
    const time = (value: string) => (parsed(`after:${value}`) as { time: number }).time;
    expect(time('2026')).toBe(Date.UTC(2026, 0, 1));
    expect(time('2026-2')).toBe(Date.UTC(2026, 1, 1));
    expect(time('2026/12/31')).toBe(Date.UTC(2026, 11, 31));
    expect(time('2024-02-29')).toBe(Date.UTC(2024, 1, 29));
    expect(time('2026-01-02T03:04:05Z')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
  });
  it('reads ages in hours, days, weeks, months of 30 days and years of 365 days', () => {
    const age = (value: string) => (NOW - (parsed(`newer_than:${value}`) as { time: number }).time) / 3_600_000;
    expect(['1h', '1d', '1w', '1m', '1y', '12H'].map(age)).toEqual([1, 24, 7 * 24, 30 * 24, 365 * 24, 12]);
  });
  it('takes a field name before a quotation mark for a field of the header only after header:', () => {
    expect(parsed('header:X-Id:"a b"')).toEqual({ kind: 'header', name: 'x-id', text: 'a b' });
    expect(parsed('from:x:"a b"')).toMatchObject({ kind: 'and', of: [{ text: 'x:' }, { text: 'a b', place: 'any' }] });
  });
  it('reads every form of size', () => {
    const bytes = (value: string) => (parsed(`larger:${value}`) as { bytes: number }).bytes - 1;
    expect(['500', '1k', '2KB', '3MiB', '1g', '1.5k', '0.001k', '7b'].map(bytes)).toEqual([
      500,
      1024,
      2048,
      3 * 1024 ** 2,
      1024 ** 3,
      1536,
      1,
      7,
    ]);
  });
  it('reads every flag, label and attachment', () => {
    const flag = (name: string) => ({ kind: 'keyword', test: { kind: 'flag', flag: name }, scope: 'message' });
    for (const [text, filter] of [
      ['seen', flag('isRead')],
      ['READ', flag('isRead')],
      ['unseen', { kind: 'none', of: [flag('isRead')] }],
      ['starred', flag('isFlagged')],
      ['unflagged', { kind: 'none', of: [flag('isFlagged')] }],
      ['draft', flag('isDraft')],
      ['snoozed', { kind: 'snoozed' }],
    ] as const) {
      expect(parsed(`is:${text}`)).toEqual(filter);
    }
    expect(refusal('is:constructor')?.[0]).toBe(0);
    expect(parsed('label:Work')).toEqual({ kind: 'keyword', test: { kind: 'label', label: 'Work' }, scope: 'message' });
    expect([parsed('has:attachment'), parsed('HAS:Attachments')]).toEqual([
      { kind: 'has_attachment', value: true },
      { kind: 'has_attachment', value: true },
    ]);
  });
  it('reads prefixes only outside quotation marks, and fields in any case', () => {
    expect(parsed('"a*"')).toEqual({ ...word('a*'), match: 'phrase' });
    expect(parsed('FROM:a*')).toEqual({ kind: 'text', place: 'from', text: 'a', match: 'prefix' });
    expect(parsed('to:a cc:b filename:c')).toMatchObject({
      of: [{ place: 'to' }, { place: 'cc' }, { place: 'files' }],
    });
  });
  it('joins terms with AND, OR and |, and omits terms without a word', () => {
    expect(parsed('a AND b')).toEqual({ kind: 'and', of: [word('a'), word('b')] });
    expect(parsed('a | b')).toEqual({ kind: 'or', of: [word('a'), word('b')] });
    expect(parsed('a OR &')).toEqual(word('a'));
    expect(parsed('a & OR &')).toEqual(word('a'));
    expect(parsed('a NOT &')).toEqual(word('a'));
    expect(parsed('a - b')).toEqual({ kind: 'and', of: [word('a'), word('b')] });
    expect(parsed('a --b')).toMatchObject({ of: [word('a'), { text: '--b' }] });
    expect(parsed('(a)b')).toEqual({ kind: 'and', of: [word('a'), word('b')] });
    expect(parsed('a"b c"')).toEqual({ kind: 'and', of: [word('a'), { ...word('b c'), match: 'phrase' }] });
  });
});

describe('terms', () => {
  it('are cut at 64 characters, in the index and in queries', () => {
    expect(toTerms('x'.repeat(70))).toEqual(['x'.repeat(64)]);
    expect(toPhrase('x'.repeat(70))).toEqual([{ term: 'x'.repeat(64), isPrefix: false }]);
    expect([toTerms(''), toIndexText('. , !'), toPhrase('!')]).toEqual([[], '', []]);
  });
  it('of a prefix query match whole words, and the last one as a prefix', () => {
    expect(toPhrase('new yo', true)).toEqual([
      { term: 'new', isPrefix: false },
      { term: 'yo', isPrefix: true },
    ]);
    expect(toPhrase('new yo')).toEqual([
      { term: 'new', isPrefix: false },
      { term: 'yo', isPrefix: false },
    ]);
  });
  it('of one CJK character match as the start of a pair only at the end of a phrase', () => {
    expect(toPhrase('京 x')).toEqual([
      { term: '京', isPrefix: false },
      { term: 'x', isPrefix: false },
    ]);
    expect(toPhrase('x 京')).toEqual([
      { term: 'x', isPrefix: false },
      { term: '京', isPrefix: true },
    ]);
    expect(toPhrase('東京都', true)).toEqual([
      { term: '東京', isPrefix: false },
      { term: '京都', isPrefix: false },
    ]);
  });
  it('of English words also match the singular and the plural', () => {
    for (const [term, others] of [
      ['pass', ['passes']],
      ['passes', ['pass']],
      ['dishes', ['dish']],
      ['match', ['matches']],
      ['matches', ['match']],
      ['city', ['cities']],
      ['cities', ['city']],
      ['keys', ['key']],
      ['dogs', ['dog']],
      ['abc', []],
      ['bonus', []],
      ['plan1', []],
      ['movies', ['movy']],
      ['monkey', ['monkeys']],
    ] as const) {
      expect([term, toInflections(term)]).toEqual([term, others]);
    }
  });
  it('have offsets of their position in the text', () => {
    const text = 'Über 東京, x';
    const runs = [...findRuns(text)];
    expect(runs.map(({ start, end }) => text.slice(start, end))).toEqual(['Über', '東京', 'x']);
    expect(runs.map(({ term }) => term)).toEqual(['uber', '東京', 'x']);
    expect(runs.map(({ term }) => isCjk(term))).toEqual([false, true, false]);
  });
});

describe('a snippet', () => {
  const snippet = (text: string, query: string) => makeSnippet(text, toNeedles(parsed(query)));
  it('looks for words of the body that are not negated', () => {
    const needles = toNeedles(parsed('plan (city OR 東京 OR inv*) "next week" -gone from:ada'));
    expect([...needles.words].sort()).toEqual(['cities', 'city', 'inv', 'next', 'plan', 'plans', 'week']);
    expect([needles.prefixes, needles.pieces]).toEqual([['plan', 'city', 'inv'], ['東京']]);
    expect(toNeedles(null)).toEqual({ words: new Set(), prefixes: [], pieces: [] });
  });
  it('counts the matched words', () => {
    const needles = toNeedles(parsed('plan inv* 京都'));
    expect(countNeedles('Plan, plans, planner, invoice, inv 東京都 x', needles)).toBe(5);
    expect(countNeedles('nothing', needles)).toBe(0);
  });
  it('matches a word, a prefix or part of a CJK run', () => {
    expect(snippet('an invoice', 'inv*')).toBe('an invoice');
    expect(snippet('an invoice', 'inv')).toBe('an invoice');
    expect([snippet('an invoice', 'in'), snippet('an invoice', '"inv"')]).toEqual([null, null]);
    expect(snippet('東京都', '京都')).toBe('東京都');
  });
  it('contains the whole of a short text', () => {
    expect(snippet('  the\n plan  ', 'plan')).toBe('the plan');
    const exact = `plan ${'x'.repeat(155)}`;
    expect(snippet(exact, 'plan')).toBe(exact);
    expect(snippet(`${exact}y`, 'plan')).toBe(`${exact}…`);
  });
  it('begins at a word, at most 50 characters before the hit', () => {
    const far = `${'w '.repeat(25)}plan`;
    expect(snippet(far, 'plan')).toBe(far);
    expect(snippet(`first ${far}`, 'plan')).toBe(`…${'w '.repeat(24)}plan`);
    const inside = `${'abcdefghi '.repeat(6)}plan`;
    expect(snippet(`1234${inside}`, 'plan')).toBe(`…${'abcdefghi '.repeat(4)}plan`);
    expect(snippet(`ab ${'-'.repeat(48)}plan`, 'plan')).toBe(`…${'-'.repeat(48)}plan`);
    // Without a space before the found word, the snippet begins inside a word.
    expect(snippet(`${'-'.repeat(51)}plan`, 'plan')).toBe(`…${'-'.repeat(50)}plan`);
    expect(snippet(`${'-'.repeat(60)}plan`, 'plan')).toBe(`…${'-'.repeat(50)}plan`);
  });
  it('begins 50 characters before a hit deep inside a CJK run', () => {
    const shown = snippet(`${'前'.repeat(100)}京都${'後'.repeat(300)}`, '京都');
    expect(shown).toBe(`…${'前'.repeat(50)}京都${'後'.repeat(108)}…`);
  });
});

describe('a base subject', () => {
  it.each([
    ['Re: [list] Plan', 'plan', true],
    ['[a][b] Plan', 'plan', false],
    ['Plan (fwd) (FWD)', 'plan', true],
    ['[Fwd: Re: Plan]', 'plan', true],
    ['Re[2]:Plan', 'plan', true],
    ['  A \t b ', 'a b', false],
    ['[only]', '[only]', false],
    ['[fwd:]', '', true],
    [`x${'y'.repeat(400)}`, `x${'y'.repeat(299)}`, false],
  ])('of %j is %j; reply: %s', (subject, base, isReply) => {
    expect(toBaseSubject(subject)).toEqual({ base, isReply });
  });
});

describe('the part of a base subject by which SQLite finds candidates', () => {
  const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  it('is in every subject with that base, whichever letters fold', () => {
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const letter = String.fromCodePoint(code);
      if (code > 0x7f && letter.toLowerCase() === letter) continue;
      const subject = `Re: [list] Trip${letter}s of ${letter}ATE`;
      const part = toSubjectPart(toBaseSubject(subject).base);
      expect([code, lowerAscii(subject).includes(part)]).toEqual([code, true]);
    }
  });
  it.each([
    ['trip to köln', 'tr'],
    ['kiki', ''],
    ['会議', ''],
    ['quarterly report', 'quarterly'],
  ])('of %s is %s', (base, part) => {
    expect(toSubjectPart(base)).toBe(part);
  });
});
