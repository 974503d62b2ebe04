import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toBaseSubject } from '../../../durable-objects/mail/domain/base-subject.ts';
import { makeSnippet, toNeedles } from '../../../durable-objects/mail/domain/snippet.ts';
import { foldText, toIndexText, toInflections, toPhrase } from '../../../workers/mail/domain/search-text.ts';
import { parsedQuery, readQuery } from '../../support/mail/search-query.ts';

const NOW = Date.UTC(2026, 10, 22, 12);
const parsed = (query: string) => parsedQuery(query, NOW);
const refusal = (query: string) => {
  const result = readQuery(query, NOW);
  return result.ok ? null : result.error;
};

describe('a search query', () => {
  it('reads words, phrases, prefixes and fields', () => {
    expect(parsed('plan "next week" inv* from:ada subject:"the plan"')).toEqual({
      kind: 'and',
      of: [
        { kind: 'text', place: 'any', text: 'plan', match: 'word' },
        { kind: 'text', place: 'any', text: 'next week', match: 'phrase' },
        { kind: 'text', place: 'any', text: 'inv', match: 'prefix' },
        { kind: 'text', place: 'from', text: 'ada', match: 'word' },
        { kind: 'text', place: 'subject', text: 'the plan', match: 'phrase' },
      ],
    });
  });

  it('binds OR tighter than adjacent terms, and negates a term after a dash', () => {
    const text = (word: string) => ({ kind: 'text', place: 'any', text: word, match: 'word' });
    expect(parsed('a b OR -c')).toEqual({
      kind: 'and',
      of: [text('a'), { kind: 'or', of: [text('b'), { kind: 'none', of: [text('c')] }] }],
    });
    expect(parsed('-(a OR b)')).toEqual({ kind: 'none', of: [{ kind: 'or', of: [text('a'), text('b')] }] });
  });

  it('reads flags, folders, dates and sizes', () => {
    expect(
      parsed('is:unread in:"My Folder" has:attachment before:2026-02-01 after:2026/1/5 larger:10M smaller:1.5k'),
    ).toEqual({
      kind: 'and',
      of: [
        { kind: 'none', of: [{ kind: 'keyword', test: { kind: 'flag', flag: 'isRead' }, scope: 'message' }] },
        { kind: 'in', folderId: 'My Folder' },
        { kind: 'has_attachment', value: true },
        { kind: 'before', time: Date.UTC(2026, 1, 1) },
        { kind: 'after', time: Date.UTC(2026, 0, 5) },
        { kind: 'min_size', bytes: 10 * 1024 ** 2 + 1 },
        { kind: 'max_size', bytes: 1536 },
      ],
    });
  });

  it('finds messages outside Junk and Trash, unless it names a folder', () => {
    const read = (query: string) => {
      const result = readQuery(query);
      return result.ok && JSON.stringify(result.value);
    };
    const visible = '{"kind":"visible"}';
    const flagged = '{"kind":"keyword","test":{"kind":"flag","flag":"isFlagged"},"scope":"message"}';
    expect(read('is:flagged')).toBe(`{"kind":"and","of":[${flagged},${visible}]}`);
    expect(read('is:flagged -in:work')).toContain(visible);
    expect(read('is:flagged in:work')).not.toContain(visible);
    expect(read('is:flagged (a OR in:work)')).not.toContain(visible);
    expect(read('is:flagged in:any')).toBe(flagged);
    expect(read('in:all')).toBe(visible);
    expect(read('in:flagged')).toBe(`{"kind":"and","of":[${flagged},${visible}]}`);
  });

  it('treats a colon or a dash inside a word as text', () => {
    expect(parsed('10:30')).toMatchObject({ kind: 'text', text: '10:30' });
    expect(parsed('well-known')).toMatchObject({ kind: 'text', text: 'well-known' });
    expect(parsed('   ')).toBeNull();
    expect(parsed('a & b')).toMatchObject({ kind: 'and', of: [{ text: 'a' }, { text: 'b' }] });
  });

  it('names a word that is unknown before a colon and a value', () => {
    for (const [query, at, word] of [
      ['form:ada', 0, 'form'],
      ['plan -sender:ada', 6, 'sender'],
      ['(a OR newer-than:2d)', 6, 'newer-than'],
      ['von:anna', 0, 'von'],
      ['größe:10', 0, 'größe'],
      ['frm:"Ada L"', 0, 'frm'],
    ] as const) {
      expect(refusal(query), query).toEqual({
        at,
        message: `Unknown search word "${word}:". Quote it to search for it as text.`,
      });
    }
  });

  it('reads addresses, times, reply marks, paths and quoted text as text', () => {
    for (const query of [
      ...[
        'https://shop.test/a?b=c:d',
        'mailto:ada@x.test',
        'shop.test:8080',
        'localhost:8080',
        '10:30',
        '10:30:59Z',
        '5:1',
      ],
      ...['Re:', 'Re:plan', 'AW:Rechnung', 'Fwd:x', 'note:', 'std::map', 'C:\\x', ':smile:', 'a.b:c', 'x1:y'],
    ]) {
      expect(parsed(query), query).toMatchObject({ kind: 'text', place: 'any', text: query, match: 'word' });
    }
    expect(parsed('"form:ada"')).toMatchObject({ kind: 'text', text: 'form:ada', match: 'phrase' });
    expect(parsed('subject:"Re: form:x"')).toMatchObject({ kind: 'text', place: 'subject', text: 'Re: form:x' });
  });

  it('reads hidden copies, threads, lists, headers and ages', () => {
    expect(
      parsed('bcc:ada thread:T1A list:dev.x.test header:X-Mailer header:x-mailer:"a b" header:"X-A:b c" is:answered'),
    ).toEqual({
      kind: 'and',
      of: [
        { kind: 'text', place: 'bcc', text: 'ada', match: 'word' },
        { kind: 'thread', threadId: 't1a' },
        { kind: 'header', name: 'list-id', text: 'dev.x.test' },
        { kind: 'header', name: 'x-mailer', text: null },
        { kind: 'header', name: 'x-mailer', text: 'a b' },
        { kind: 'header', name: 'x-a', text: 'b c' },
        { kind: 'keyword', test: { kind: 'flag', flag: 'isAnswered' }, scope: 'message' },
      ],
    });
    const day = 86_400_000;
    expect(parsed('newer_than:2d older_than:1y')).toEqual({
      kind: 'and',
      of: [
        { kind: 'after', time: NOW - 2 * day },
        { kind: 'before', time: NOW - 365 * day },
      ],
    });
    expect(parsed('NEWER_THAN:3H')).toEqual({ kind: 'after', time: NOW - day / 8 });
    for (const query of ['newer_than:2', 'older_than:d', 'newer_than:-2d', 'header:"a b:c"', 'bcc:', 'list:'])
      expect(refusal(query), query).toMatchObject({ at: 0 });
  });

  it('returns the position of an error', () => {
    expect(refusal('ab "cd')).toEqual({ at: 3, message: 'Unmatched quotation mark.' });
    expect(refusal('a OR')).toMatchObject({ at: 2 });
    expect(refusal('OR a')).toMatchObject({ at: 0 });
    expect(refusal('(a b')).toMatchObject({ at: 0 });
    expect(refusal('a) b')).toMatchObject({ at: 1 });
    expect(refusal('x is:purple')).toMatchObject({ at: 2 });
    expect(refusal('before:yesterday')).toMatchObject({ at: 0 });
    expect(refusal('before:2026-02-30')).toMatchObject({ at: 0 });
    expect(refusal('larger:big')).toMatchObject({ at: 0 });
    expect(refusal('from:')).toMatchObject({ at: 0 });
    expect(refusal('&&&')).toMatchObject({ at: 0 });
    expect(refusal('(('.repeat(20))).toBeTruthy();
    expect(refusal('a '.repeat(51))).toBeTruthy();
  });

  it('returns a query or an error for any input, and never throws', () => {
    const piece = fc.constantFrom(
      'a',
      '"',
      '(',
      ')',
      '-',
      'OR',
      'NOT',
      ' ',
      'in:',
      'is:',
      'from:',
      '*',
      '東京',
      ':',
      '\u0000',
      '\ud800',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join('')),
        (query) => {
          const result = readQuery(query, NOW);
          if (!result.ok) expect(result.error.at).toBeLessThanOrEqual(query.length);
        },
      ),
    );
  });
});

describe('search terms', () => {
  it('fold case, accents and width', () => {
    expect(foldText('ÉCOLE Straße ﬁn ＡＢＣ Łódź')).toBe('ecole strasse fin abc lodz');
    expect(foldText('が')).toBe('が');
    expect(foldText('회의')).toBe('회의');
  });

  it('are pairs of characters in Chinese, Japanese and Korean', () => {
    expect(toIndexText('東京都へ行く')).toBe('東京 京都 都へ へ行 行く く');
    expect(toIndexText('abc東京def')).toBe('abc 東京 京 def');
    expect(toPhrase('東京')).toEqual([{ term: '東京', isPrefix: false }]);
    expect(toPhrase('京')).toEqual([{ term: '京', isPrefix: true }]);
    expect(toPhrase('회의')).toEqual([{ term: '회의', isPrefix: false }]);
  });

  it('match their plural and singular, and no other forms', () => {
    expect(toInflections('invoice')).toEqual(['invoices']);
    expect(toInflections('invoices')).toEqual(['invoice']);
    expect(toInflections('party')).toEqual(['parties']);
    expect(toInflections('parties')).toEqual(['party']);
    expect(toInflections('box')).toEqual([]);
    expect(toInflections('boxes')).toEqual(['box']);
    for (const word of ['news', 'status', 'analysis', 'the']) expect(toInflections(word)).toEqual([]);
  });
});

describe('a snippet', () => {
  const snippet = (text: string, query: string) => makeSnippet(text, toNeedles(parsed(query)));
  it('shows the words around the hit', () => {
    const text = `${'before '.repeat(40)}the Invoices are here ${'after '.repeat(40)}`;
    expect(snippet(text, 'invoice')).toMatch(/^…before .*the Invoices are here.*after…$/);
    expect(snippet(`${'前'.repeat(100)}東京都${'後'.repeat(300)}`, '京都')).toContain('東京都');
    expect(snippet('nothing here', 'invoice')).toBeNull();
    expect(snippet('some text', '-some')).toBeNull();
  });
});

describe('a base subject', () => {
  it('loses reply and forward prefixes, list names and trailers', () => {
    for (const subject of [
      'Re: Plan',
      'RE[2]: re: plan',
      '[list] Re: [list] Plan',
      'Fwd: Plan (fwd)',
      'AW: Plan',
      '回复：Plan',
      '[Fwd: Plan]',
    ]) {
      expect([subject, toBaseSubject(subject)]).toEqual([subject, { base: 'plan', isReply: true }]);
    }
    expect(toBaseSubject('[list] Plan')).toEqual({ base: 'plan', isReply: false });
    expect(toBaseSubject('[list]')).toEqual({ base: '[list]', isReply: false });
    expect(toBaseSubject('Re:')).toEqual({ base: '', isReply: true });
    expect(toBaseSubject('Report')).toEqual({ base: 'report', isReply: false });
  });
});
