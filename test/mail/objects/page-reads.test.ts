/**
 * Pages of messages are read with few queries, and one row at a time. Compares them with SQLite's own cursor and with reads of single
 * messages, on texts that are hard to carry: NUL, all scripts, long lists. The number of queries must not grow with the page.
 */
import { env, runInDurableObject } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import { readRows } from '../../../durable-objects/mail/database/store.ts';
import { readEmails } from '../../../durable-objects/mail/jmap/email-read-store.ts';
import { findFolder } from '../../../durable-objects/mail/messages/folder-store.ts';
import { listMessages, readMessage } from '../../../durable-objects/mail/messages/message-read-store.ts';
import { search } from '../../../durable-objects/mail/search/search-store.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { ANSWER_BYTES_MAX } from '../../../workers/shared/pure/request-budget.ts';
import { delivery } from '../../support/mail/messages.ts';

const START = Date.UTC(2026, 0, 1);
const TEXTS = [
  'plain plum',
  'NUL \0 inside\0',
  '"quotes" \\ and \u0001 \u001f \u007f \u2028',
  'Übergröße Straße ŁÓDŹ Œuvre Ærø',
  'ΆΝΑΞ Ёлка',
  'IĞDIR ılık İstanbul',
  '会議は明日 回覆 ｶﾀｶﾅ 안녕하세요',
  'การประชุมพรุ่งนี้ ກອງປະຊຸມ ប្រជុំ အစည်းအဝေး',
  'المكتبة الكُبرى שָׁלוֹם',
  'नमस्ते दुनिया 👩‍👩‍👧 \u{1f600}',
];
/** Recipients of a hostile message: more than a list shows, and most of what a row may have. */
const MANY = Array.from({ length: 12_000 }, (_, n) => ({ name: `"Plum\0" ${n}`, email: `person-${n}@elsewhere.test` }));
const FILLING = 60;

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

let mailbox: MailboxRpc;
const inSql = <T>(work: (sql: SqlStorage) => T): Promise<T> =>
  runInDurableObject(mailbox as unknown as DurableObjectStub, (_, state) => work(state.storage.sql));

beforeAll(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  const hard = TEXTS.map((text, n) =>
    delivery(
      { subject: text, text: `${text} plum ${text}`, from: { name: text, email: 'a@x.test' }, to: n === 1 ? MANY : [] },
      { labels: ['b', 'a'], receivedAt: START + n * 1_000 },
    ),
  );
  const filling = Array.from({ length: FILLING }, (_, n) =>
    delivery({ subject: `filling ${n}`, text: 'plum' }, { receivedAt: START + 100_000 + n }),
  );
  for (const stored of value(await mailbox.storeMessages([...hard, ...filling]))) value(stored);
});

it('a row has the values that the cursor of SQLite gives', async () => {
  const [ours, theirs] = await inSql((sql) => {
    const query = `SELECT m.*, x'00ff' AS bytes, 1.5 AS real, 9007199254740991 AS large, NULL AS absent, 'a' || char(0) || 'b' AS nul
      FROM message AS m ORDER BY position`;
    return [[...readRows(sql.exec(query))], [...sql.exec(query)]];
  });
  expect(theirs).toHaveLength(TEXTS.length + FILLING);
  expect(ours).toEqual(theirs);
  expect(ours.map((row) => Object.keys(row))).toEqual(theirs.map((row) => Object.keys(row)));
});

it('a page of emails has what each email has, in the order of the ids', async () => {
  const [pages, single] = await inSql((sql) => {
    const ids = [...sql.exec<{ id: string }>('SELECT message_id AS id FROM message ORDER BY position')].map(
      ({ id }) => id,
    );
    const mixed = [...ids.slice(20), crypto.randomUUID(), 'no id', `${ids[0]}-2`, ...ids.slice(0, 20), ids[3] ?? ''];
    const upper = mixed.map((id) => id.toUpperCase());
    const read = (each: readonly string[]) => readEmails(sql, each, ANSWER_BYTES_MAX);
    return [[read(mixed), read(upper)], mixed.flatMap((id) => read([id]) ?? [])];
  });
  expect(single).toHaveLength(TEXTS.length + FILLING + 1);
  expect(pages).toEqual([single, single]);
  const subjects = single.map(({ subject }) => subject);
  expect(TEXTS.filter((text) => !subjects.includes(text))).toEqual([]);
  expect(single.find(({ to }) => to.length > 0 && to[0]?.email === 'person-0@elsewhere.test')?.to).toEqual(MANY);
  expect(single.every(({ labels }) => labels.length === 0 || labels.toString() === 'a,b')).toBe(true);
});

it('emails that are together too long are none, one alone is read whole', async () => {
  const lengths = await inSql((sql) => {
    const ids = [...sql.exec<{ id: string }>('SELECT message_id AS id FROM message ORDER BY position')].map(
      ({ id }) => id,
    );
    return [ids, ids.slice(1, 2), ids.slice(0, 2)].map((each) => readEmails(sql, each, 100_000)?.length ?? null);
  });
  expect(lengths).toEqual([null, 1, null]);
});

it('a list and a search show the messages that are read alone, with long fields cut', async () => {
  const [listed, hits, alone] = await inSql((sql) => {
    const folder = findFolder(sql, 'inbox');
    if (!folder) throw new Error('no inbox');
    const page = listMessages(sql, folder, { offset: 0 }, 200);
    const found = search(sql, { query: 'plum', sort: 'relevance', page: null, limit: 200 }, START);
    return [page, value(found).hits, page.map(({ position }) => readMessage(sql, position))];
  });
  expect(listed).toHaveLength(TEXTS.length + FILLING);
  for (const [at, message] of listed.entries()) {
    const { to, ...rest } = message;
    expect(alone[at]).toMatchObject(rest);
    expect(alone[at]?.to.slice(0, to.length)).toEqual(to);
    expect(JSON.stringify(to).length).toBeLessThan(40_000);
  }
  expect(new Map(hits.map(({ message }) => [message.messageId, message]))).toEqual(
    new Map(listed.map((message) => [message.messageId, message])),
  );
  expect(hits.every(({ snippet }) => snippet.includes('plum'))).toBe(true);
});

it('the number of queries does not grow with the page', async () => {
  const count = (sql: SqlStorage, work: (counted: SqlStorage) => unknown): number => {
    let queries = 0;
    const exec = (...args: Parameters<SqlStorage['exec']>) => {
      queries += 1;
      return sql.exec(...args);
    };
    work({ exec } as SqlStorage);
    return queries;
  };
  const counts = await inSql((sql) => {
    const folder = findFolder(sql, 'inbox');
    const ids = [...sql.exec<{ id: string }>('SELECT message_id AS id FROM message')].map(({ id }) => id);
    return [5, 50].map((limit) => ({
      list: count(sql, (each) => folder && listMessages(each, folder, { offset: 0 }, limit)),
      emails: count(sql, (each) => readEmails(each, ids.slice(0, limit), ANSWER_BYTES_MAX)),
      search: count(sql, (each) => search(each, { query: 'plum', sort: 'relevance', page: null, limit }, START)),
    }));
  });
  const expected = { list: 2, emails: 1, search: 7 };
  expect(counts).toEqual([expected, expected]);
});
