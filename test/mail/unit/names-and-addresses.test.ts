import { describe, expect, it } from 'vitest';
import { cleanFileName, makeNamesUnique } from '../../../workers/mail/domain/attachment-name.ts';
import { composeAutomatic, keepSendableIds, toEncodedWords } from '../../../workers/mail/domain/automatic-message.ts';
import { parseOwnAddress } from '../../../workers/mail/domain/email-address.ts';
import {
  decideFilters,
  type FilterAction,
  type FilterCondition,
  FORWARDED_BY,
  type MessageFacts,
  mayAnswerAutomatically,
  mayForward,
} from '../../../workers/mail/domain/filter-rule.ts';
import { parseMailPath, toAsciiDomain, withoutTag } from '../../../workers/mail/domain/mail-path.ts';
import { toPlainText } from '../../../workers/mail/domain/plain-text.ts';
import { readReturnPath, toBase32, toReturnPath } from '../../../workers/mail/domain/return-path.ts';

describe('the name of an attachment', () => {
  it.each([
    ['a.pdf', 'a.pdf'],
    ['C:\\temp\\a.pdf', 'a.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['a\u0000\u202e  b.txt', 'a b.txt'],
    ['.hidden', '.hidden'],
    ['.hidden.txt', '.hidden.txt'],
    ['...', 'attachment.png'],
    ['a/', 'attachment.png'],
    [null, 'attachment.png'],
    [`${'n'.repeat(300)}.txt`, `${'n'.repeat(196)}.txt`],
    [`a.${'e'.repeat(300)}`, `a.${'e'.repeat(19)}`],
    [`${'n'.repeat(300)}.${'e'.repeat(300)}`, `${'n'.repeat(180)}.${'e'.repeat(19)}`],
    ['n'.repeat(201), 'n'.repeat(200)],
  ])('%j becomes %j', (name, expected) => {
    expect(cleanFileName(name, 'image/png')).toBe(expected);
  });
  it('has no extension if it is empty and the type is unknown', () => {
    expect(cleanFileName('', 'application/x-unknown')).toBe('attachment');
  });
  it('is unique in its message, in any case', () => {
    expect(makeNamesUnique(['a.pdf', 'A.pdf', 'a (2).pdf', 'a.pdf', 'b', 'b', '.c', '.c'])).toEqual([
      'a.pdf',
      'A (2).pdf',
      'a (2) (2).pdf',
      'a (3).pdf',
      'b',
      'b (2)',
      '.c',
      '.c (2)',
    ]);
  });
});

describe('an account address', () => {
  it.each([
    [' Ann@Example.TEST ', { email: 'ann@example.test', local: 'ann', domain: 'example.test' }],
    ['a@b', { email: 'a@b', local: 'a', domain: 'b' }],
    ['a..b@example.test', 'bad_address'],
    ['a+b@example.test', 'bad_address'],
    ['a.@example.test', 'bad_address'],
    ['ann', 'bad_address'],
    ['postmaster@example.test', 'reserved'],
    ['No-Reply@example.test', 'reserved'],
    ['post.master@example.test', 'reserved'],
    ['webmaster-@example.test', 'reserved'],
    ['ssl_admin@example.test', 'reserved'],
    ['info@example.test', 'reserved'],
    ['infos@example.test', { email: 'infos@example.test', local: 'infos', domain: 'example.test' }],
  ])('%j is %j', (text, expected) => {
    expect(parseOwnAddress(text)).toEqual(expected);
  });
});

describe('an SMTP path', () => {
  const domain = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(59)}.test`;
  it('has a local part of at most 64 and a length of at most 254 octets', () => {
    expect(parseMailPath(`${'l'.repeat(64)}@far.test`)?.local).toBe('l'.repeat(64));
    expect(parseMailPath(`${'l'.repeat(65)}@far.test`)).toBeNull();
    const room = 254 - domain.length - 1;
    expect(parseMailPath(`${'l'.repeat(room)}@${domain}`)?.email).toHaveLength(254);
    expect(parseMailPath(`${'l'.repeat(room + 1)}@${domain}`)).toBeNull();
  });
  it('has its domain after the last @', () => {
    expect(parseMailPath('"a@b"@far.test')).toEqual({ local: '"a@b"', domain: 'far.test', email: '"a@b"@far.test' });
    for (const text of ['@', 'far.test', '@far.test', 'a@']) expect(parseMailPath(text)).toBeNull();
  });
  it('loses its tag if there is a name before it', () => {
    const without = (text: string) => withoutTag(parseMailPath(text) ?? { local: '', domain: '', email: '' });
    expect([without('a+b+c@far.test'), without('a@far.test'), without('+b@far.test')]).toEqual([
      'a@far.test',
      null,
      null,
    ]);
  });
  it.each([
    ['far', null],
    ['far.1', null],
    ['1.test', '1.test'],
    ['-a.test', null],
    [`${'d'.repeat(63)}.test`, `${'d'.repeat(63)}.test`],
    [`${'d'.repeat(64)}.test`, null],
    [`${`${'d'.repeat(49)}.`.repeat(5)}xyz`, `${`${'d'.repeat(49)}.`.repeat(5)}xyz`],
    [`${`${'d'.repeat(49)}.`.repeat(5)}wxyz`, null],
    ['ü\u0000.test', null],
    ['', null],
  ])('converts the domain %j to %j', (text, expected) => {
    expect(toAsciiDomain(text)).toBe(expected);
  });
});

describe('an automatic message', () => {
  const compose = (more: Partial<Parameters<typeof composeAutomatic>[0]>) =>
    composeAutomatic({
      from: { name: 'Ann', email: 'ann@example.test' },
      to: 'b@far.test',
      subject: 'Away',
      text: 'x',
      messageId: '<1@example.test>',
      inReplyTo: null,
      references: [],
      now: Date.UTC(2026, 0, 1),
      autoSubmitted: 'auto-generated',
      ...more,
    });
  const bodyOf = (text: string) => compose({ text }).split('\r\n\r\n').slice(1).join('\r\n\r\n');
  it('has references to the last twenty messages and the answered one, each once', () => {
    expect(compose({})).not.toMatch(/In-Reply-To|References/);
    const ids = Array.from({ length: 30 }, (_, i) => `<${i}@far.test>`);
    const raw = compose({ references: ids, inReplyTo: '<29@far.test>' });
    expect(/References: ([^:]*)\r\nAuto/.exec(raw)?.[1]?.split('\r\n ')).toEqual(ids.slice(10));
    expect(raw).toContain('In-Reply-To: <29@far.test>\r\n');
    expect(compose({ references: ['<0@far.test>'], inReplyTo: '<1@far.test>' })).toContain(
      'References: <0@far.test>\r\n <1@far.test>\r\n',
    );
    expect(compose({ references: ['<0@far.test>'] })).toContain('References: <0@far.test>\r\nAuto');
  });
  it('keeps ids of up to 902 characters', () => {
    const [fits, not] = [`<${'x'.repeat(900)}>`, `<${'x'.repeat(901)}>`];
    expect(keepSendableIds([fits, not, '<a b>', 'a', '<>'])).toEqual([fits]);
  });
  it('is quoted-printable in lines of at most 76 characters', () => {
    expect(bodyOf('a=b \tc~\u007fé\n')).toBe('a=3Db \tc~=7F=C3=A9\r\n');
    expect(bodyOf('a\u0001\u001fb')).toBe('a=01=1Fb\r\n');
    expect(bodyOf('end \nend\t\nin side\r\n\r\nlast')).toBe('end=20\r\nend=09\r\nin side\r\n\r\nlast\r\n');
    expect(bodyOf('x'.repeat(76))).toBe(`${'x'.repeat(76)}\r\n`);
    expect(bodyOf('x'.repeat(77))).toBe(`${'x'.repeat(25)}=\r\n${'x'.repeat(25)}=\r\n${'x'.repeat(25)}=\r\nxx\r\n`);
  });
  it('encodes names and subjects that are long or not plain ASCII', () => {
    const subject = (text: string) => /Subject: ([^:]*)\r\nDate/.exec(compose({ subject: text }))?.[1];
    expect(subject('x'.repeat(61))).toBe('x'.repeat(61));
    expect(subject('x'.repeat(62))).toMatch(/^=\?utf-8\?B\?.*\?=\r\n =\?utf-8\?B\?.*\?=$/);
    expect(subject('a:b')).toBe('=?utf-8?B?YTpi?=');
    const decoded = subject('é'.repeat(600))
      ?.match(/B\?([^?]*)\?=/g)
      ?.map((word) => Buffer.from(word.slice(2, -2), 'base64').toString());
    expect(decoded?.join('')).toBe('é'.repeat(500));
  });
  it('has encoded words of at most 42 bytes of text, with whole characters', () => {
    expect(toEncodedWords('')).toEqual([]);
    const decode = (text: string) =>
      toEncodedWords(text).map((word) => Buffer.from(word.slice(10, -2), 'base64').toString());
    expect(decode('x'.repeat(42))).toEqual(['x'.repeat(42)]);
    expect(decode('x'.repeat(43))).toEqual(['x'.repeat(42), 'x']);
    expect(decode('é'.repeat(22))).toEqual(['é'.repeat(21), 'é']);
    expect(Math.max(...toEncodedWords('é'.repeat(99)).map((word) => word.length))).toBeLessThanOrEqual(75);
  });
});

describe('plain text of HTML', () => {
  it.each([
    ['<p>a</p><p>b</p>', 'a\n\nb'],
    ['<DIV>a<br/>b</DIV>', 'a\nb'],
    ['<td>a</td><th>b</th><td>c</td>', 'a b c'],
    ['a<b>b</b><i>c</i>', 'abc'],
    ['a &amp;lt; &lt;b&gt; &quot;c&quot; &copy;', 'a &lt; <b> "c" &copy;'],
    ['<p>a</p>\n\n<p></p><p></p><p>b</p>', 'a\n\nb'],
    [' a&nbsp;\n b ', 'a  b'],
    ['', ''],
  ])('%j becomes %j', (html, text) => {
    expect(toPlainText(html)).toBe(text);
  });
});

describe('filters and replies', () => {
  const facts = (more: Partial<MessageFacts> = {}): MessageFacts => ({
    from: [{ name: 'Ada', email: 'ada@far.test' }],
    to: [{ name: '', email: 'me@example.test' }],
    subject: '',
    body: '',
    headers: [],
    sizeBytes: 0,
    hasAttachment: true,
    ...more,
  });
  const decide = (conditions: FilterCondition[], actions: FilterAction[], enabled = true) =>
    decideFilters([{ name: 'r', enabled, match: 'all', conditions, actions }], facts());
  const NOTHING = { folder: null, isRead: false, isFlagged: false, labels: [], forwardTo: [] };
  it('run each action of a rule that holds', () => {
    const all: FilterAction[] = [
      { type: 'mark_read' },
      { type: 'flag' },
      { type: 'trash' },
      { type: 'label', label: 'x' },
      { type: 'forward', to: 'B@far.test' },
    ];
    const each = [
      { isRead: true },
      { isFlagged: true },
      { folder: 'trash' },
      { labels: ['x'] },
      { forwardTo: ['b@far.test'] },
    ];
    for (const [i, action] of all.entries()) expect(decide([], [action])).toEqual({ ...NOTHING, ...each[i] });
    expect(decide([], [{ type: 'move', folder_id: 'f' }])).toEqual({ ...NOTHING, folder: 'f' });
    expect(decide([{ field: 'has_attachment', negate: true }], all)).toEqual(NOTHING);
    expect(decide([], all, false)).toEqual(NOTHING);
  });
  it('stop after a rule with stop, but not if that rule does not hold', () => {
    const rule = (conditions: FilterCondition[], ...actions: FilterAction[]) =>
      ({ name: 'r', enabled: true, match: 'all', conditions, actions }) as const;
    const flag = rule([], { type: 'flag' });
    expect(decideFilters([rule([], { type: 'stop' }), flag], facts()).isFlagged).toBe(false);
    expect(
      decideFilters([rule([{ field: 'size', operator: 'larger', bytes: 0 }], { type: 'stop' }), flag], facts())
        .isFlagged,
    ).toBe(true);
  });
  it('do not forward reports or mail that this mailbox forwarded before', () => {
    const forwarded = [{ name: FORWARDED_BY.toUpperCase(), value: ' u1 ' }];
    expect(mayForward('u1', 'ada@far.test', [])).toBe(true);
    expect(mayForward('u1', '', [])).toBe(false);
    expect(mayForward('u1', 'ada@far.test', forwarded)).toBe(false);
    expect(mayForward('u2', 'ada@far.test', forwarded)).toBe(true);
    expect(mayForward('u1', 'ada@far.test', [{ name: 'X-Other', value: 'u1' }])).toBe(true);
  });
  it('answer mail with headers that only resemble those of machines', () => {
    const own = new Set(['me@example.test']);
    for (const [name, value] of [
      ['Auto-Submitted', 'No'],
      ['Precedence', 'first-class'],
      ['X-Auto-Response-Suppress', 'None'],
      ['Listing', 'auto-replied bulk all'],
      ['Comments', 'bulk'],
    ] as const) {
      expect([name, mayAnswerAutomatically('ada@far.test', own, facts({ headers: [{ name, value }] }))]).toEqual([
        name,
        true,
      ]);
    }
    const second = [
      { name: 'X', value: '' },
      { name: 'List-Id', value: '' },
    ];
    expect(mayAnswerAutomatically('ada@far.test', own, facts({ headers: second }))).toBe(false);
  });
});

describe('a return path', () => {
  const DAY_MS = 86_400_000;
  const owner = { local: 'ann', domain: 'example.test', email: 'ann@example.test' };
  const sign = (text: string) => toBase32(Buffer.from(text.padEnd(20)).reverse());
  const make = (sender: string, now: number, of = owner) => toReturnPath(of, sender, now, sign);
  const read = (email: string, now: number) => {
    const path = parseMailPath(email);
    return path && readReturnPath(path, now, [sign]);
  };
  it('counts days in two digits, modulo 1,024', () => {
    expect(make('', 0)).toMatch(/=aa@example\.test$/);
    expect(make('', 33 * DAY_MS)).toMatch(/=bb@example\.test$/);
    expect(make('', 1023 * DAY_MS + 1)).toMatch(/=77@example\.test$/);
    expect(make('', 1024 * DAY_MS)).toMatch(/=aa@example\.test$/);
  });
  it('is valid for 21 days, also when the day counter wraps', () => {
    for (const day of [0, 31, 32, 1010, 1023, 20_000]) {
      const made = make('b@far.test', day * DAY_MS);
      expect(read(made, (day + 21) * DAY_MS)).toEqual({ owner: 'ann@example.test' });
      expect(read(made, (day + 22) * DAY_MS)).toBe(false);
    }
  });
  it('contains the sender if it is plain and fits', () => {
    expect(make('Bob@far.test', 0)).toMatch(/^ann\+SRS0=[a-z2-7]{8}=aa=far\.test=bob@example\.test$/);
    expect(make("o'b@far.test", 0)).toMatch(/^ann\+SRS0=[a-z2-7]{8}=aa@example\.test$/);
    const local = (length: number) => make(`${'b'.repeat(length)}@far.test`, 0).split('@')[0] ?? '';
    // A local part has at most 64 characters. "ann+SRS0=", 8 characters, "=aa" and "=far.test=" leave 34.
    expect([local(34).length, local(35).length]).toEqual([64, 20]);
  });
  it('is not recognised without an owner, and is invalid without its parts', () => {
    expect(read('ann@example.test', 0)).toBeNull();
    expect(readReturnPath({ local: '+srs0=aaaaaaaa=aa', domain: 'example.test', email: '' }, 0, [sign])).toBeNull();
    expect(read('ann+srs0=aaaaaaaa@example.test', 0)).toBe(false);
    expect(readReturnPath({ local: 'a+srs0=', domain: 'example.test', email: '' }, 0, [sign])).toBe(false);
  });
  it('uses the Base32 of RFC 4648 §10', () => {
    const texts = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'];
    expect(texts.map((text) => toBase32(Buffer.from(text)))).toEqual([
      '',
      'my',
      'mzxq',
      'mzxw6',
      'mzxw6yq',
      'mzxw6ytb',
      'mzxw6ytboi',
    ]);
    expect(toBase32(Uint8Array.of(255, 255, 255, 255, 255, 0))).toBe('77777777aa');
  });
});
