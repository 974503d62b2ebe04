/**
 * Searches a mailbox larger than one search step. Random queries are paged to their end and compared with a filter over
 * all messages.
 */

import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { SearchPage } from '../../../durable-objects/mail/contract/search.ts';

import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import type { EmailFilter } from '../../../workers/mail/domain/email-filter.ts';
import { delivery } from '../../support/mail/messages.ts';

const MESSAGES = 4_500;
const PER_CALL = 250;
const SECONDS_BETWEEN = 1_800;

interface Known {
  readonly id: string;
  readonly words: readonly string[];
  readonly subject: string;
  readonly sender: string;
  readonly folder: string;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly label: string | null;
  readonly sizeBytes: number;
  readonly receivedAt: number;
}

let mailbox: MailboxRpc;
const known: Known[] = [];

/** Makes a message with words of every frequency, including words that only one half of the mailbox has. */
function makeMessage(n: number): Omit<Known, 'id'> {
  const isOld = n < MESSAGES / 2;
  return {
    words: [
      ...(n % 50 === 7 ? [] : ['always']),
      n % 2 ? 'odd' : 'even',
      ...(n % 3 ? [] : ['third']),
      ...(n % 97 ? [] : ['rarely']),
      ...(n % 1_499 ? [] : ['needle']),
      isOld ? 'past' : 'present',
      `prefixed${n % 40}`,
      ...(n % 11 ? ['東京都'] : []),
    ],
    subject: n % 5 ? 'common' : 'special',
    sender: `s${n % 30}`,
    folder: ['inbox', 'inbox', 'archive', 'trash', 'sent', 'inbox', 'junk'][n % 7] ?? 'inbox',
    isRead: n % 20 !== 0,
    isFlagged: n % 60 === 1,
    label: n % 400 === 3 ? 'seldom' : n % 4 ? null : 'often',
    sizeBytes: 1_000 + (n % 1_000) * 10,
    receivedAt: Date.UTC(2024, 0, 1) + n * SECONDS_BETWEEN * 1_000,
  };
}

beforeAll(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e12 });
  for (let n = 0; n < MESSAGES; n += PER_CALL) {
    const made = Array.from({ length: PER_CALL }, (_, at) => makeMessage(n + at));
    const stored = await mailbox.storeMessages(
      made.map(({ words, subject, sender, label, ...rest }) =>
        delivery(
          { text: words.join(' '), subject, from: { name: '', email: `${sender}@elsewhere.test` } },
          { ...rest, labels: label === null ? [] : [label] },
        ),
      ),
    );
    if (!stored.ok) throw new Error('the mailbox is missing');
    for (const [at, each] of stored.value.entries()) {
      const message = made[at];
      if (!each.ok || !message) throw new Error('not stored');
      known.push({ ...message, id: each.value.messageId });
    }
  }
});

interface Query {
  readonly text: string;
  readonly holds: (message: Known) => boolean;
  /** Whether the query names a folder, so that Junk and Trash are included. */
  readonly namesFolder?: boolean;
}

const has = (word: string) => (message: Known) => message.words.includes(word);
const day = (n: number) => Date.UTC(2024, 0, 1 + n);
const dayText = (n: number) => new Date(day(n)).toISOString().slice(0, 10);
const phrase = (first: string, second: string): Query => ({
  text: `"${first} ${second}"`,
  holds: ({ words }) => words.some((word, at) => word === first && words[at + 1] === second),
});

const LEAVES: readonly Query[] = [
  ...['always', 'odd', 'even', 'third', 'rarely', 'needle', 'past', 'present', 'absent'].map((word) => ({
    text: word,
    holds: has(word),
  })),
  phrase('always', 'odd'),
  phrase('odd', 'always'),
  phrase('even', 'third'),
  phrase('third', 'rarely'),
  { text: 'prefixed3*', holds: ({ words }) => words.some((word) => word.startsWith('prefixed3')) },
  { text: '京都', holds: has('東京都') },
  { text: 'subject:special', holds: ({ subject }) => subject === 'special' },
  { text: 'from:s7', holds: ({ sender }) => sender === 's7' },
  { text: 'is:read', holds: ({ isRead }) => isRead },
  { text: 'is:unread', holds: ({ isRead }) => !isRead },
  { text: 'is:flagged', holds: ({ isFlagged }) => isFlagged },
  { text: 'label:seldom', holds: ({ label }) => label === 'seldom' },
  { text: 'label:often', holds: ({ label }) => label === 'often' },
  { text: 'larger:10K', holds: ({ sizeBytes }) => sizeBytes > 10_240 },
  { text: 'smaller:1100', holds: ({ sizeBytes }) => sizeBytes < 1_100 },
  { text: `before:${dayText(30)}`, holds: ({ receivedAt }) => receivedAt < day(30) },
  { text: `after:${dayText(100)}`, holds: ({ receivedAt }) => receivedAt >= day(100) },
  { text: 'in:inbox', holds: ({ folder }) => folder === 'inbox', namesFolder: true },
  { text: 'in:trash', holds: ({ folder }) => folder === 'trash', namesFolder: true },
  { text: 'in:any', holds: () => true, namesFolder: true },
];

const { query } = fc.letrec<{ query: Query; leaf: Query; not: Query; and: Query; or: Query }>((tie) => ({
  leaf: fc.constantFrom(...LEAVES),
  not: tie('leaf').map(({ text, holds }) => ({ text: `-${text}`, holds: (message: Known) => !holds(message) })),
  and: fc.array(fc.oneof(tie('leaf'), tie('not'), tie('or')), { minLength: 2, maxLength: 4 }).map((parts) => ({
    text: parts.map((part) => part.text).join(' '),
    holds: (message: Known) => parts.every((part) => part.holds(message)),
    namesFolder: parts.some((part) => part.namesFolder),
  })),
  or: fc.array(fc.oneof(tie('leaf'), tie('not')), { minLength: 2, maxLength: 3 }).map((parts) => ({
    text: `(${parts.map((part) => part.text).join(' OR ')})`,
    holds: (message: Known) => parts.some((part) => part.holds(message)),
    namesFolder: parts.some((part) => part.namesFolder),
  })),
  query: fc.oneof({ arbitrary: tie('and'), weight: 4 }, tie('leaf'), tie('not'), tie('or')),
}));

async function readAll(text: string, sort: 'relevance' | 'newest'): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let page: SearchPage | null = null;
  let pages = 0;
  do {
    const found = await mailbox.search({ query: text, sort, page, limit: 200 });
    if (!found.ok) throw new Error(`${text}: ${JSON.stringify(found.error)}`);
    ids.push(...found.value.hits.map((hit) => hit.message.messageId));
    page = found.value.next;
    pages += 1;
  } while (page);
  return { ids, pages };
}

describe('search in a large mailbox', () => {
  it('finds on all pages together the same messages as a filter, each once', async () => {
    // A failure prints its seed and the shortest query that fails.
    await fc.assert(
      fc.asyncProperty(query, fc.constantFrom('relevance' as const, 'newest' as const), async (asked, sort) => {
        const { ids } = await readAll(asked.text, sort);
        const expected = known
          .filter((message) => asked.namesFolder || (message.folder !== 'junk' && message.folder !== 'trash'))
          .filter(asked.holds)
          .map((message) => message.id);
        expect([asked.text, ids.length, new Set(ids).size]).toEqual([asked.text, expected.length, expected.length]);
        expect(new Set(ids)).toEqual(new Set(expected));
        if (sort === 'newest') expect(ids).toEqual([...expected].reverse());
      }),
      { numRuns: 60 },
    );
  });

  it('returns an empty page and a cursor after scanning part of the mailbox for a query that matches nothing', async () => {
    const found = await mailbox.search({ query: '-always -odd -even', sort: 'newest', page: null, limit: 50 });
    expect(found.ok && found.value.hits).toEqual([]);
    expect(found.ok && found.value.next).toMatchObject({ offset: null });
    expect((await readAll('-always -odd -even', 'newest')).ids).toEqual([]);
  });
});

interface Asked {
  readonly filter: EmailFilter;
  readonly holds: (message: Known) => boolean;
}

const text = (word: string): Asked => ({
  filter: { kind: 'text', place: 'any', text: word, match: 'phrase' },
  holds: has(word),
});
const label = (name: string): Asked => ({
  filter: { kind: 'keyword', test: { kind: 'label', label: name }, scope: 'message' },
  holds: (message) => message.label === name,
});
const flag = (name: 'isRead' | 'isFlagged'): Asked => ({
  filter: { kind: 'keyword', test: { kind: 'flag', flag: name }, scope: 'message' },
  holds: (message) => message[name],
});
const subject: Asked = {
  filter: { kind: 'text', place: 'subject', text: 'special', match: 'phrase' },
  holds: (message) => message.subject === 'special',
};

describe('a query of JMAP in a large mailbox', () => {
  it('finds the same messages as a filter, whichever index it reads', async () => {
    const folders = await mailbox.readJmapFolders(false);
    if (!folders.ok) throw new Error('the mailbox is missing');
    const place = (role: string): Asked => ({
      filter: { kind: 'in', folderId: folders.value.folders.find((each) => each.role === role)?.folderId ?? '' },
      holds: ({ folder }) => folder === role,
    });
    const leaf = fc.constantFrom(
      ...['always', 'odd', 'third', 'rarely', 'needle', 'past', 'absent', '東京都'].map(text),
      ...[subject, label('seldom'), label('often'), flag('isRead'), flag('isFlagged')],
      ...['inbox', 'trash', 'drafts'].map(place),
    );
    const not = leaf.map(
      ({ filter, holds }): Asked => ({
        filter: { kind: 'none', of: [filter] },
        holds: (message) => !holds(message),
      }),
    );
    const either = fc.array(leaf, { minLength: 2, maxLength: 2 }).map(
      (of): Asked => ({
        filter: { kind: 'or', of: of.map(({ filter }) => filter) },
        holds: (message) => of.some(({ holds }) => holds(message)),
      }),
    );
    const parts = fc.array(fc.oneof({ arbitrary: leaf, weight: 4 }, not, either), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(parts, fc.boolean(), fc.nat(200), async (of, isAscending, position) => {
        const found = await mailbox.queryEmails({
          filter: { kind: 'and', of: of.map(({ filter }) => filter) },
          sort: [{ by: 'receivedAt', isAscending }],
          collapseThreads: false,
          position,
          anchor: null,
          anchorOffset: 0,
          limit: 100,
          calculateTotal: true,
        });
        const expected = known.filter((message) => of.every(({ holds }) => holds(message))).map(({ id }) => id);
        const ids = (isAscending ? expected : expected.reverse()).slice(position, position + 100);
        expect(found).toMatchObject({ ok: true, value: { found: { ids, total: expected.length } } });
      }),
      { numRuns: 100 },
    );
  });
});
