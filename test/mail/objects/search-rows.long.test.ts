/**
 * Counts the rows that searches read in a mailbox of 20,000 messages, by both front ends, and prints them with the times. Fails if a
 * first page reads more than its limit. Figures are in docs/evidence.md.
 */
import { env, runInDurableObject } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import { createRandom, makeWords, wordOfRank } from '../../../bench/mail/mailbox-text.ts';
import { queryEmails } from '../../../durable-objects/mail/jmap/query-store.ts';
import { search } from '../../../durable-objects/mail/search/search-store.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery } from '../../support/mail/messages.ts';

const MESSAGES = 20_000;
const PER_CALL = 1_000;
const RUNS = 5;
/** Limits of rows that a first page reads, and one of the hits with a label. */
const PAGE = 4_000;
const LABELED_PAGE = 12_000;

let mailbox: MailboxRpc;

beforeAll(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e12 });
  const random = createRandom(7);
  for (let n = 0; n < MESSAGES; n += PER_CALL) {
    const inputs = Array.from({ length: PER_CALL }, (_, at) =>
      delivery(
        { subject: makeWords(random, 6), text: makeWords(random, 80) },
        { receivedAt: Date.UTC(2024, 0, 1) + (n + at) * 1_200_000, labels: random() < 0.02 ? ['label'] : [] },
      ),
    );
    const stored = await mailbox.storeMessages(inputs);
    expect(new Set(stored.ok ? stored.value.map(({ ok }) => ok) : [])).toEqual(new Set([true]));
  }
});

/** Runs work in the object several times. @returns the rows that it read, its time, and its value. */
async function measure<T>(work: (sql: SqlStorage) => T) {
  return runInDurableObject(mailbox as unknown as DurableObjectStub, async (_, { storage }) => {
    const times: number[] = [];
    let read = 0;
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
    }
    return { read, ms: (times.sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? 0).toFixed(1), value: value as T };
  });
}

const RANKS = { 'in every message': 0, common: 10, frequent: 100, seldom: 870, rare: 3_000 };
const cut = (word: string) => word.slice(0, 4);
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(RANKS).map(([name, rank]) => [`a word ${name}`, [wordOfRank(rank)]])),
  ...Object.fromEntries(
    Object.entries(RANKS).map(([name, rank]) => [`4 letters of it`.concat(`, ${name}`), [cut(wordOfRank(rank))]]),
  ),
  'two frequent words': [wordOfRank(100), wordOfRank(101)],
  'a frequent and the beginning of a common word': [wordOfRank(100), cut(wordOfRank(10))],
  'no such word': ['xyzzy'],
};

it('reads a page of hits', async () => {
  for (const [name, words] of Object.entries(QUERIES)) {
    const query = words.join(' ');
    const page = await measure((sql) => search(sql, { query, sort: 'relevance', page: null, limit: 50 }, Date.now()));
    const among = await measure((sql) =>
      search(sql, { query: `label:label ${query}`, sort: 'newest', page: null, limit: 50 }, Date.now()),
    );
    const of = words.map((text) => ({ kind: 'text', place: 'any', text, match: 'word' }) as const);
    const window = { position: 0, anchor: null, anchorOffset: 0, limit: 50, collapseThreads: false };
    const ask = (calculateTotal: boolean) =>
      measure((sql) => queryEmails(sql, { filter: { kind: 'and', of }, sort: [], ...window, calculateTotal }));
    const [jmap, total] = [await ask(false), await ask(true)];
    const hits = page.value.ok ? page.value.value.hits.length : 0;
    const all = typeof total.value === 'object' ? total.value.total : null;
    console.log(
      `${name} (${query}): q ${page.read} rows ${page.ms} ms, ${hits} hits; with a label ${among.read} rows ${among.ms} ms; ` +
        `JMAP ${jmap.read} rows ${jmap.ms} ms; with a total ${total.read} rows ${total.ms} ms, ${all}`,
    );
    for (const { read } of [page, jmap]) expect([name, read]).toEqual([name, Math.min(read, PAGE)]);
    expect([name, among.read]).toEqual([name, Math.min(among.read, LABELED_PAGE)]);
  }
});
