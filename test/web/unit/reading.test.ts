import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toReply } from '../../../web/mail/compose/reply.ts';
import { applySuggestion, suggestSearch } from '../../../web/mail/list/search-suggestions.ts';
import {
  formatAddresses,
  parseAddresses,
  quote,
  replyRecipients,
  withPrefix,
} from '../../../web/mail/model/addresses.ts';
import type { Message, Summary } from '../../../web/mail/model/api.ts';
import { toShownLabels } from '../../../web/mail/model/labels.ts';
import {
  appendToRows,
  findRowShift,
  groupByThread,
  type Piece,
  patchRows,
  restoreRemoved,
  rowCount,
  toMessageOffset,
} from '../../../web/mail/model/rows.ts';
import { splitQuote } from '../../../web/mail/reader/plain-text.tsx';
import { describeAuthentication, describeSpam } from '../../../web/mail/reader/verdicts.ts';
import { toSearchQuery } from '../../../web/mail/settings/filter-preview.ts';
import { visibleRange } from '../../../web/shared/windowed-list.ts';

describe('addresses', () => {
  it('are parsed in all common forms, and invalid ones are returned', () => {
    expect(parseAddresses('Ann <a@x.test>; "Bond, James" <b@y.test>, c@z.test,\nnobody')).toEqual({
      addresses: [
        { name: 'Ann', email: 'a@x.test' },
        { name: 'Bond, James', email: 'b@y.test' },
        { email: 'c@z.test' },
      ],
      bad: ['nobody'],
    });
    expect(parseAddresses(' , ;')).toEqual({ addresses: [], bad: [] });
  });

  it('are the same after formatting and parsing', () => {
    const people = [
      { name: 'Bond, James', email: 'b@y.test' },
      { name: 'Zoë', email: 'z@x.test' },
      { email: 'c@z.test' },
    ];
    expect(parseAddresses(formatAddresses(people)).addresses).toEqual(people);
  });
});

const message = {
  from: { name: 'Grace', email: 'grace@x.test' },
  to: [
    { name: 'Me', email: 'Me@x.test' },
    { name: '', email: 'ann@x.test' },
  ],
  cc: [
    { name: '', email: 'grace@x.test' },
    { name: '', email: 'bob@x.test' },
  ],
  reply_to: [],
  date: '2026-01-02T03:04:05Z',
  subject: 'Lake',
  body: 'One\n> two\n',
  headers: { message_id: '<2@x.test>', in_reply_to: '<1@x.test>', references: ['<1@x.test>', 'bro ken'] },
} as unknown as Message;

describe('a reply', () => {
  it('goes to the sender, and a reply to all also to the others, once each and never to the user', () => {
    expect(replyRecipients(message, ['me@x.test'], false)).toEqual({ to: [message.from], cc: [] });
    const all = replyRecipients(message, ['me@x.test'], true);
    expect(all.to.map((one) => one.email)).toEqual(['grace@x.test', 'ann@x.test']);
    expect(all.cc.map((one) => one.email)).toEqual(['bob@x.test']);
  });

  it('to an own message goes to its recipients', () => {
    expect(replyRecipients(message, ['grace@x.test'], false).to).toEqual(message.to);
  });

  it("goes to the sender's reply address", () => {
    const wanted = [{ name: '', email: 'list@x.test' }];
    expect(replyRecipients({ ...message, reply_to: wanted }, ['me@x.test'], false).to).toEqual(wanted);
  });

  it('quotes the message, adds one subject prefix, and refers to the message', () => {
    expect(quote(message.body)).toBe('> One\n>> two');
    expect([withPrefix('Re', 'Lake'), withPrefix('Re', 're: Lake'), withPrefix('Fwd', 'Re: Lake')]).toEqual([
      'Re: Lake',
      're: Lake',
      'Fwd: Re: Lake',
    ]);
    const reply = toReply('reply', message, ['first@x.test', 'me@x.test'], '\n\n-- \nMe', null);
    expect(reply).toMatchObject({
      from: 'me@x.test',
      inReplyTo: '<2@x.test>',
      references: ['<1@x.test>', '<2@x.test>'],
    });
    expect(reply.body).toBe('\n\n-- \nMe');
    expect(reply.quote?.text).toMatch(/^On .*, Grace <grace@x.test> wrote:\n> One\n>> two$/);
  });
});

describe('the list', () => {
  const summary = (id: string, thread: string, part: Partial<Summary> = {}) =>
    ({ id, thread_id: thread, is_read: true, is_flagged: false, labels: [], ...part }) as unknown as Summary;

  it('shows a conversation once, at its newest message, with the flags and labels of all its messages', () => {
    const rows = groupByThread([
      summary('3', 'b', { labels: ['home'] }),
      summary('2', 'a', { is_flagged: true }),
      summary('1', 'b', { is_read: false, labels: ['home', 'work'] }),
    ]);
    expect(rows.map((row) => [row.threadId, row.messages.length])).toEqual([
      ['b', 2],
      ['a', 1],
    ]);
    expect(rows[0]).toMatchObject({ isUnread: true, isFlagged: false, labels: ['home', 'work'] });
    expect(rows[1]).toMatchObject({ isUnread: false, isFlagged: true });
  });

  const mail = (from: number) =>
    fc
      .array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 12 })
      .map((threads) =>
        threads.map((thread, at) => summary(String(from + at), thread, { is_read: at % 3 > 0, labels: [thread] })),
      );

  it('has the same rows after appending older messages as after grouping all at once', () => {
    fc.assert(
      fc.property(mail(0), mail(100), mail(200), (first, second, third) => {
        const grown = appendToRows(appendToRows(groupByThread(first), second), third);
        expect(grown).toEqual(groupByThread([...first, ...second, ...third]));
      }),
    );
  });

  it('rebuilds changed rows, or reports that a row has moved', () => {
    fc.assert(
      fc.property(mail(0), fc.func(fc.constantFrom('keep', 'flag', 'gone')), (messages, choose) => {
        const threads = new Set<string>();
        const next = messages.flatMap((message) => {
          const choice = choose(message.id);
          if (choice === 'keep') return message;
          threads.add(message.thread_id);
          return choice === 'gone' ? [] : { ...message, is_flagged: true };
        });
        const before = groupByThread(messages);
        const patched = patchRows(before, threads, next);
        if (patched) expect(patched).toEqual(groupByThread(next));
        else expect(before.some((row) => !next.includes(row.messages[0] as Summary))).toBe(true);
        for (const row of patched ?? []) if (!threads.has(row.threadId)) expect(before).toContain(row);
      }),
    );
  });

  it('restores removed messages at their old place, although others were added and removed', () => {
    const at = (id: string) => summary(id, id);
    const then = ['9', '8', '7', '6', '5'].map(at);
    const back = (now: string[], ids: string[]) =>
      restoreRemoved(now.map(at), then, new Set(ids)).map((message) => message.id);
    expect(back(['9', '6', '5'], ['8', '7'])).toEqual(['9', '8', '7', '6', '5']);
    expect(back(['10', '9', '8'], ['5'])).toEqual(['10', '9', '8', '5']);
    expect(back(['10', '5'], ['9', '7'])).toEqual(['10', '9', '7', '5']);
    expect(back([], ['8'])).toEqual(['8']);
    expect(back(['9', '8', '7', '6', '5'], ['8'])).toEqual(['9', '8', '7', '6', '5']);
    // If the loaded part is far from the message's place in the list, the message must not be inserted.
    expect(back(['2', '1'], ['8'])).toEqual(['2', '1']);
  });

  it('estimates the length of a folder and the position of a row from the loaded part', () => {
    const piece = (conversations: number, messages: number, part: Partial<Piece> = {}): Piece => {
      const known = Array.from({ length: messages }, (_, at) => summary(String(at), String(at % conversations)));
      return { messages: known, rows: groupByThread(known), start: 0, firstRow: 0, cursor: 'more', ...part };
    };
    expect(rowCount(piece(1, 0), 500)).toBe(0);
    expect(rowCount(piece(50, 100), 1000)).toBe(500);
    expect(rowCount(piece(70, 100), 90)).toBe(70);
    expect(rowCount(piece(70, 100, { cursor: null }), 1000)).toBe(70);
    expect(rowCount(piece(50, 100, { start: 400, firstRow: 200 }), 1000)).toBe(500);
    fc.assert(
      fc.property(
        fc.nat({ max: 900 }),
        fc.nat({ max: 1200 }),
        fc.integer({ min: 1, max: 100 }),
        (start, row, threads) => {
          const firstRow = start === 0 ? 0 : Math.max(1, Math.round((start * threads) / 100));
          const known = piece(threads, 100, { start, firstRow });
          const end = firstRow + known.rows.length;
          if (row >= firstRow && row < end) return;
          const offset = toMessageOffset(known, 1000, Math.min(row, rowCount(known, 1000)));
          if (row < firstRow) expect(offset).toBeLessThan(start);
          else expect(offset).toBeGreaterThanOrEqual(start + 100);
          expect(offset).toBeLessThanOrEqual(1000);
        },
      ),
    );
  });

  it('finds how far its rows have moved when others were added above', () => {
    const rows = (...ids: string[]) => groupByThread(ids.map((id) => summary(id, id)));
    expect(findRowShift(rows('3', '2', '1'), rows('5', '4', '3', '2'))).toBe(2);
    expect(findRowShift(rows('3', '2', '1'), rows('2', '1'))).toBe(-1);
    expect(findRowShift(rows('3'), rows('9'))).toBe(0);
    // If a new message moves a conversation to the top, the shift is measured at the next row.
    const joined = groupByThread([summary('9', 'c'), summary('3', 'c'), summary('2', 'b')]);
    expect(findRowShift(groupByThread([summary('3', 'c'), summary('2', 'b')]), joined)).toBe(0);
  });

  it('renders the visible rows with some rows around them, at both ends and for an empty list', () => {
    expect(visibleRange(0, 700, 70, 200_000)).toEqual({ first: 0, last: 16 });
    expect(visibleRange(100_000 * 70, 700, 70, 200_000)).toEqual({ first: 99_994, last: 100_016 });
    expect(visibleRange(200_000 * 70 - 700, 700, 70, 200_000)).toEqual({ first: 199_984, last: 200_000 });
    expect(visibleRange(5_000, 700, 70, 0)).toMatchObject({ last: expect.any(Number) });
    expect(visibleRange(0, 700, 70, 3)).toEqual({ first: 0, last: 3 });
  });
});

describe('the labels of a message', () => {
  it('leave out the marks that mail programs keep as keywords, and keep the tags of a person', () => {
    const marks = ['$mdnsent', '$junk', '$notjunk', 'junk', 'nonjunk', 'notjunk', '$unsubscribed', '$label12'];
    const asWritten = ['$Junk', 'Junk', 'NonJunk', '$NotJunk', '$Phishing', 'NotJunk', '$MDNSent'];
    const tags = ['$label1', '$label5', 'junkyard', 'work', '5$'];
    expect(toShownLabels([...marks, ...asWritten, ...tags, '$Label2'])).toEqual([...tags, '$Label2']);
  });
});

describe('search suggestions', () => {
  const folders = [
    { id: '1', role: 'inbox', name: 'Inbox' },
    { id: '2', role: null, name: 'Lake house' },
  ] as never;
  const messages = [{ labels: ['travel', 'two words'] }, { labels: ['travel'] }] as never;
  const texts = (text: string) => suggestSearch(text, folders, messages).map((one) => one.text);

  it('are all operators before any input, and then those with the same beginning', () => {
    expect(texts('').length).toBeGreaterThan(15);
    expect(texts('lunch is:')).toEqual(['is:unread', 'is:read', 'is:flagged', 'is:answered']);
    expect(texts('-ha')).toEqual(['-has:attachment']);
    expect(texts('is:unread')).toEqual([]);
    expect(texts('nothing')).toEqual([]);
  });

  it('include the existing folders and labels', () => {
    expect(texts('in:')).toEqual(['in:inbox', 'in:"Lake house"']);
    expect(texts('x in:"lake h')).toEqual(['in:"Lake house"']);
    expect(texts('-label:t')).toEqual(['-label:travel', '-label:"two words"']);
  });

  it('replace the word being typed', () => {
    expect(applySuggestion('lunch fr', 'from:')).toBe('lunch from:');
    expect(applySuggestion('in:"lake h', 'in:"Lake house"')).toBe('in:"Lake house"');
    expect(applySuggestion('', '"…"')).toBe('""');
  });
});

describe('the preview of a filter', () => {
  it('is the search for the mail it matches', () => {
    const conditions = [
      { field: 'from', operator: 'contains', value: 'a "b" c', negate: false },
      { field: 'size', operator: 'larger', bytes: 1000, negate: true },
      { field: 'has_attachment', negate: false },
    ] as never;
    expect(toSearchQuery(conditions, 'all')).toBe('from:"a  b  c" -larger:1000 has:attachment');
    expect(toSearchQuery(conditions, 'any')).toBe('from:"a  b  c" OR -larger:1000 OR has:attachment');
    expect(toSearchQuery([{ field: 'from', operator: 'contains', value: ' ', negate: false }] as never, 'all')).toBe(
      '',
    );
  });
});

describe('a plain text body', () => {
  it('folds the quote at its end, with the line that introduces it', () => {
    expect(splitQuote('Yes!\n\nOn Monday Ann wrote:\n> Coming?\n> \n> Ann\n')).toEqual([
      'Yes!',
      'On Monday Ann wrote:\n> Coming?\n> \n> Ann',
    ]);
    expect(splitQuote('> one line is no quotation to fold')).toEqual(['> one line is no quotation to fold', '']);
    expect(splitQuote('> a\n> b\nanswered below')).toEqual(['> a\n> b\nanswered below', '']);
  });
});

describe('the description of check results', () => {
  const texts = (authentication: unknown) => describeAuthentication(authentication as never).map((one) => one.text);

  it('says which checks confirm the sender and which do not', () => {
    expect(texts(null)).toEqual([]);
    const good = texts({
      dmarc: { result: 'pass', domain: 'x.test' },
      dkim: [{ result: 'pass', aligned: true, domain: 'x.test' }],
      spf: { result: 'pass', domain: 'x.test' },
    });
    expect(good.join(' ')).toMatch(/Sender verified: x\.test.*Signed by x\.test.*Sent by a server of x\.test/);
    const bad = describeAuthentication({
      dmarc: { result: 'fail', domain: 'x.test' },
      dkim: [{ result: 'fail' }],
      spf: { result: 'softfail', domain: 'x.test' },
    } as never);
    expect(bad.map((one) => one.tone)).toEqual(['bad', 'warn', 'warn']);
  });

  it('lists the strongest reasons for junk first', () => {
    const spam = {
      verdict: 'spam',
      reasons: [
        { text: 'light', score: 1 },
        { text: 'friend', score: -9 },
        { text: 'heavy', score: 5 },
      ],
    } as never;
    expect(describeSpam(spam)).toEqual({ title: 'Looks like junk', against: ['heavy', 'light'], inFavour: ['friend'] });
    expect(describeSpam(null)).toBeNull();
  });
});
