/**
 * Counts the rows that JMAP reads in a mailbox of 200,000 messages and prints them with the times. Fails if a count exceeds its
 * limit. Figures are in docs/evidence.md.
 */

import { env, runInDurableObject } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import { createRandom, makeWords, wordOfRank } from '../../../bench/mail/mailbox-text.ts';
import type { EmailQueryRequest } from '../../../durable-objects/mail/contract/jmap.ts';
import { readEmails } from '../../../durable-objects/mail/jmap/email-read-store.ts';
import { readJmapFolders } from '../../../durable-objects/mail/jmap/folder-read-store.ts';
import { queryEmails } from '../../../durable-objects/mail/jmap/query-store.ts';

import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import type { EmailFilter, EmailSort } from '../../../workers/mail/domain/email-filter.ts';
import { ANSWER_BYTES_MAX } from '../../../workers/shared/pure/request-budget.ts';
import { delivery } from '../../support/mail/messages.ts';

const MESSAGES = 200_000;
const PER_CALL = 1_000;
const RUNS = 5;

let mailbox: MailboxRpc;
let inbox = '';
let trash = '';

beforeAll(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e12 });
  const random = createRandom(7);
  for (let n = 0; n < MESSAGES; n += PER_CALL) {
    const inputs = Array.from({ length: PER_CALL }, (_, at) => makeMessage(n + at, random));
    const stored = await mailbox.storeMessages(inputs);
    expect(new Set(stored.ok ? stored.value.map(({ ok }) => ok) : [])).toEqual(new Set([true]));
  }
  const folders = await mailbox.readJmapFolders(false);
  if (!folders.ok) throw new Error('the mailbox is missing');
  const idOf = (role: string) => folders.value.folders.find((folder) => folder.role === role)?.folderId ?? '';
  [inbox, trash] = [idOf('inbox'), idOf('trash')];
});

function makeMessage(n: number, random: () => number) {
  const sender = Math.floor(300 * random() ** 2);
  return delivery(
    {
      from: { name: `Person ${sender}`, email: `person${sender}@elsewhere.test` },
      subject: makeWords(random, 6),
      messageId: `<${n}@large.test>`,
      inReplyTo: n % 3 === 0 ? null : `<${n - 1}@large.test>`,
      text: makeWords(random, 80),
    },
    {
      receivedAt: Date.UTC(2016, 0, 1) + n * 120_000,
      folder: (['inbox', 'inbox', 'inbox', 'archive', 'sent'] as const)[n % 5] ?? 'inbox',
      isRead: random() < 0.95,
      isFlagged: random() < 0.001,
      labels: random() < 0.02 ? ['label'] : [],
      enforceQuota: false,
    },
  );
}

/** Limit of rows read for a page of 50 messages, including the candidates that are tested for it. */
const PAGE = 1_000;
/** Limit of rows read by one walk over all messages, for queries that no index answers. */
const WALK = 3 * MESSAGES;

/** Runs work in the object several times. @returns the rows that it read and wrote, its time, and its value. */
async function measure<T>(work: (sql: SqlStorage) => T) {
  return runInDurableObject(mailbox as unknown as DurableObjectStub, async (_, { storage }) => {
    const times: number[] = [];
    let [read, written] = [0, 0];
    let value: T | undefined;
    for (let run = 0; run < RUNS; run++) {
      const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
      const sql = new Proxy(storage.sql, {
        get(target, key) {
          if (key !== 'exec') return Reflect.get(target, key, target);
          return (...args: Parameters<SqlStorage['exec']>) => {
            const cursor = target.exec(...args);
            cursors.push(cursor);
            return cursor;
          };
        },
      });
      const startedAt = performance.now();
      value = work(sql);
      await scheduler.wait(0);
      times.push(performance.now() - startedAt);
      read = cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
      written = cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
    }
    return { read, written, ms: Math.round(times.sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? 0), value: value as T };
  });
}

const all = (...of: EmailFilter[]): EmailFilter => ({ kind: 'and', of });
const text = (words: string): EmailFilter => ({
  kind: 'and',
  of: words.split(' ').map((word) => ({ kind: 'text', place: 'any', text: word, match: 'phrase' })),
});
const keyword = (test: Extract<EmailFilter, { kind: 'keyword' }>['test'], scope: 'message' | 'some' = 'message') =>
  ({ kind: 'keyword', test, scope }) as const;
const FLAGGED = { kind: 'flag', flag: 'isFlagged' } as const;
const bySubject: EmailSort = { by: 'subject', isAscending: true };

const request = (parts: Partial<EmailQueryRequest>): EmailQueryRequest => ({
  filter: null,
  sort: [],
  collapseThreads: false,
  position: 0,
  anchor: null,
  anchorOffset: 0,
  limit: 50,
  calculateTotal: false,
  ...parts,
});

it('reads the first screen', async () => {
  const folders = await measure((sql) => readJmapFolders(sql, true));
  const inInbox: EmailFilter = { kind: 'in', folderId: inbox };
  const query = await measure((sql) => queryEmails(sql, request({ filter: inInbox, collapseThreads: true })));
  const ids = typeof query.value === 'string' ? [] : query.value.ids;
  expect(ids).toHaveLength(50);
  const emails = await measure((sql) => readEmails(sql, ids, ANSWER_BYTES_MAX));
  expect(emails.value).toHaveLength(50);
  for (const [name, { read, written, ms }] of Object.entries({ folders, query, emails })) {
    console.log(`${name}: ${read} rows, ${ms} ms`);
    expect(written).toBe(0);
    expect([name, read]).toEqual([name, Math.min(read, PAGE)]);
  }
});

it('answers queries', async () => {
  const inInbox: EmailFilter = { kind: 'in', folderId: inbox };
  const [common, second, seldom, rare] = [wordOfRank(0), wordOfRank(1), wordOfRank(870), wordOfRank(3_000)];
  /** Queries that read few rows: they stop when the page is full, or have few candidates. */
  const narrow: Record<string, Partial<EmailQueryRequest>> = {
    everything: {},
    inbox: { filter: inInbox },
    'not in Trash': { filter: { kind: 'in_other_than', folderIds: [trash] } },
    'a common word': { filter: text(common) },
    'a common word in the inbox': { filter: all(inInbox, text(common)) },
    'two common words': { filter: text(`${common} ${second}`) },
    'a seldom word in the inbox': { filter: all(inInbox, text(seldom)) },
    'a rare word in the inbox': { filter: all(inInbox, text(rare)) },
    'no such word': { filter: all(inInbox, text('xyzzy')) },
    flagged: { filter: keyword(FLAGGED) },
    'flagged in the inbox': { filter: all(inInbox, keyword(FLAGGED)) },
    'a common word among flagged': { filter: all(inInbox, keyword(FLAGGED), text(common)) },
    'a label in the inbox': { filter: all(inInbox, keyword({ kind: 'label', label: 'label' })) },
    'a label that nothing has': { filter: all(inInbox, keyword({ kind: 'label', label: 'none' })) },
  };
  /** Queries that read many rows: all matches, or all messages. */
  const wide: Record<string, Partial<EmailQueryRequest>> = {
    'everything, deep': { position: 190_000 },
    'everything, with a total': { calculateTotal: true },
    'inbox, threads and total': { filter: inInbox, collapseThreads: true, calculateTotal: true },
    'a common word with a total': { filter: text(common), calculateTotal: true },
    'threads with a flag': { filter: all(inInbox, keyword(FLAGGED, 'some')) },
    'a header': { filter: { kind: 'header', name: 'X-Nothing', text: 'x' } },
    'larger than all': { filter: { kind: 'min_size', bytes: 1e9 } },
    'by subject': { sort: [bySubject] },
    'a seldom word by subject': { filter: text(seldom), sort: [bySubject] },
  };
  for (const [name, parts] of Object.entries({ ...narrow, ...wide })) {
    const { read, written, ms, value } = await measure((sql) => queryEmails(sql, request(parts)));
    const found = typeof value === 'string' ? value : `${value.ids.length} of ${value.total ?? '?'}`;
    console.log(`${name}: ${read} rows, ${ms} ms, ${found}`);
    expect(written).toBe(0);
    expect([name, read]).toEqual([name, Math.min(read, name in narrow ? PAGE : WALK)]);
  }
});
