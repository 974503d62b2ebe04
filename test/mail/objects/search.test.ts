import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import type { EmailQuery } from '../../../workers/mail/domain/email-filter.ts';
import { readEmailQuery } from '../../../workers/mail/jmap/objects/email-query.ts';
import { delivery } from '../../support/mail/messages.ts';

let mailbox: MailboxRpc;
const ids = new Map<string, string>();
const HOUR = 3_600_000;

async function put(name: string, parsed: Parameters<typeof delivery>[0], input: Parameters<typeof delivery>[1] = {}) {
  const stored = await mailbox.storeMessage(delivery({ subject: name, ...parsed }, input));
  if (!stored.ok) throw new Error(JSON.stringify(stored.error));
  ids.set(stored.value.messageId, name);
}

async function find(query: string, sort: 'relevance' | 'newest' = 'newest') {
  const found = await mailbox.search({ query, sort, page: null, limit: 50 });
  if (!found.ok) return JSON.stringify(found.error);
  return found.value.hits.map((hit) => ids.get(hit.message.messageId));
}

beforeAll(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  await mailbox.createFolder('Work/Clients');
  const at = (n: number) => ({ receivedAt: Date.UTC(2026, 0, 1) + n * HOUR });
  await put('cafe', { text: 'Le café est fermé. Two invoices are open.' }, at(1));
  await put('tokyo', { text: '来週は東京都で会議です。' }, at(2));
  await put('korean', { text: '내일 회의는 열 시입니다' }, at(3));
  await put(
    'pdf',
    {
      text: 'see attached',
      attachments: [
        {
          fileName: 'Quarterly Report.pdf',
          contentType: 'application/pdf',
          sizeBytes: 5,
          isInline: false,
          contentId: null,
          r2Key: 'mail/u/x',
        },
      ],
    },
    { ...at(4), sizeBytes: 5_000_000 },
  );
  await put('trash', { text: 'an invoice thrown away' }, { ...at(5), folder: 'trash' });
  await put(
    'work',
    { text: 'the client pays', from: { name: 'Grace Hopper', email: 'grace@navy.test' } },
    { ...at(6), folder: 'inbox', isFlagged: true, labels: ['money'] },
  );
  await put('read', { text: 'old news', cc: [{ name: '', email: 'copy@example.test' }] }, { ...at(7), isRead: true });
});

describe('search', () => {
  it('finds words of scripts without spaces, and regardless of vowel marks and of the Turkish ı', async () => {
    const userId = crypto.randomUUID();
    const other = openMailbox(env, userId);
    await other.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
    const texts = { thai: 'การประชุมพรุ่งนี้', arabic: 'المكتبة الكُبرى', turkish: 'IĞDIR TOPLANTISI' };
    for (const [subject, text] of Object.entries(texts)) await other.storeMessage(delivery({ subject, text }));
    const subjectsOf = async (query: string) => {
      const found = await other.search({ query, sort: 'newest', page: null, limit: 9 });
      return found.ok && found.value.hits.map(({ message }) => message.subject);
    };
    expect(await subjectsOf('ประชุม')).toEqual(['thai']);
    expect(await subjectsOf('พรุ่งนี้')).toEqual(['thai']);
    expect(await subjectsOf('الكبرى')).toEqual(['arabic']);
    expect(await subjectsOf('ığdır toplantisi')).toEqual(['turkish']);
  });

  it('finds words regardless of accents, case and number', async () => {
    expect(await find('cafe')).toEqual(['cafe']);
    expect(await find('FERMÉ')).toEqual(['cafe']);
    expect(await find('invoice')).toEqual(['cafe']);
    expect(await find('"invoice"')).toEqual([]);
    expect([await find('"new"'), await find('ne')]).toEqual([[], []]);
    expect(await find('inv*')).toEqual(['cafe']);
    expect(await find('"est fermé"')).toEqual(['cafe']);
    expect(await find('"fermé est"')).toEqual([]);
  });

  it('finds the beginnings of words, by both protocols, and only whole words in quotation marks', async () => {
    const userId = crypto.randomUUID();
    const other = openMailbox(env, userId);
    await other.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
    const texts = ['Lindenstraße 12', 'Die Lindenstr. 12', 'Lind im Mai', 'Straßenlinden'];
    for (const text of texts) await other.storeMessage(delivery({ subject: text, text }));
    const search = async (query: string) => {
      const found = await other.search({ query, sort: 'relevance', page: null, limit: 9 });
      return found.ok && found.value.hits.map(({ message }) => message.subject);
    };
    expect(await search('lindenstr')).toEqual(['Die Lindenstr. 12', 'Lindenstraße 12']);
    expect(await search('subject:lindenstr')).toHaveLength(2);
    expect(await search('"lindenstr"')).toEqual(['Die Lindenstr. 12']);
    expect(await search('linden -lindenstr')).toEqual([]);
    expect([await search('li'), await search('li*')].map((found) => (found ? found.length : null))).toEqual([0, 3]);
    expect(await search('lin')).toHaveLength(3);
    const query = readEmailQuery({ filter: { text: 'lindenstr' }, sort: null, collapseThreads: false });
    const exact = readEmailQuery({ filter: { text: '"lindenstr"' }, sort: null, collapseThreads: false });
    const count = async ({ filter, sort }: EmailQuery) => {
      const window = { position: 0, anchor: null, anchorOffset: 0, limit: 9, calculateTotal: true };
      const found = await other.queryEmails({ filter, sort, collapseThreads: false, ...window });
      return found.ok && typeof found.value.found === 'object' && found.value.found.total;
    };
    if (!query.ok || !exact.ok) throw new Error('the filter was refused');
    expect([await count(query.value), await count(exact.value)]).toEqual([2, 1]);
  });

  it('finds Chinese, Japanese and Korean words of two characters, and of one', async () => {
    expect(await find('東京')).toEqual(['tokyo']);
    expect(await find('京都')).toEqual(['tokyo']);
    expect(await find('会議')).toEqual(['tokyo']);
    expect(await find('東京都')).toEqual(['tokyo']);
    expect(await find('東都')).toEqual([]);
    expect(await find('都')).toEqual(['tokyo']);
    expect(await find('회의')).toEqual(['korean']);
  });

  it('finds by field, flag, folder, date, size and label', async () => {
    expect(await find('from:grace')).toEqual(['work']);
    expect(await find('from:grace@navy.test')).toEqual(['work']);
    expect(await find('to:grace')).toEqual([]);
    expect(await find('cc:copy@example.test')).toEqual(['read']);
    expect(await find('subject:tokyo')).toEqual(['tokyo']);
    expect(await find('filename:quarterly')).toEqual(['pdf']);
    expect(await find('filename:pdf')).toEqual(['pdf']);
    expect(await find('has:attachment')).toEqual(['pdf']);
    expect(await find('is:flagged')).toEqual(['work']);
    expect(await find('is:read')).toEqual(['read']);
    expect(await find('is:unread client')).toEqual(['work']);
    expect(await find('larger:1M')).toEqual(['pdf']);
    expect(await find('smaller:1M is:flagged')).toEqual(['work']);
    expect(await find('label:money')).toEqual(['work']);
    expect(await find('before:2026-01-01T02:30:00Z')).toEqual(['tokyo', 'cafe']);
    expect(await find('after:2026-01-01T06:30:00Z')).toEqual(['read']);
  });

  it('finds nothing if two conditions exclude each other', async () => {
    for (const query of [
      'is:read is:unread',
      'is:flagged is:unflagged',
      'has:attachment -has:attachment',
      'in:all -in:all',
    ])
      expect([query, await find(query)]).toEqual([query, []]);
  });

  it('finds by hidden copy, thread, list, header, age and answered mark', async () => {
    const now = { receivedAt: Date.now() - 2 * HOUR };
    const headers = [
      { name: 'List-Id', value: 'Developers <dev.lists.test>' },
      { name: 'X-Mailer', value: 'Café 2' },
    ];
    await put('list', { headers, messageId: '<root@x.test>', cc: [{ name: 'Zoë', email: 'z@x.test' }] }, now);
    await put(
      'reply',
      { inReplyTo: '<root@x.test>', bcc: [{ name: 'Jürgen', email: 'j@x.test' }] },
      { ...now, origin: 'sent' },
    );
    const [list = ''] = [...ids].find(([, name]) => name === 'list') ?? [];
    await mailbox.patchMessages([list], { isAnswered: true });
    const found = await mailbox.readMessage(list);
    const thread = found.ok ? found.value.threadId : '';
    expect(await find(`thread:${thread}`)).toEqual(['reply', 'list']);
    expect(await find(`thread:${thread} -is:answered`)).toEqual(['reply']);
    expect([await find('thread:t1'), await find('thread:nonsense')]).toEqual([[], []]);
    expect([await find('bcc:jurgen'), await find('cc:jurgen'), await find('bcc:zoe')]).toEqual([['reply'], [], []]);
    expect(await find('cc:zoe')).toEqual(['list']);
    expect(await find('list:dev.lists.test')).toEqual(['list']);
    expect([await find('list:other'), await find('-list:dev newer_than:1d')]).toEqual([[], ['reply']]);
    expect([await find('header:x-mailer'), await find('header:X-Mailer:2'), await find('header:x-mailer:3')]).toEqual([
      ['list'],
      ['list'],
      [],
    ]);
    expect(await find('newer_than:3h')).toEqual(['reply', 'list']);
    expect(await find('newer_than:1h')).toEqual([]);
    expect(await find('older_than:1h newer_than:1d is:answered')).toEqual(['list']);
    expect([await find('is:forwarded'), await find('is:unanswered list:dev')]).toEqual([[], []]);
    expect(await find('frm:ada')).toContain('Unknown search word \\"frm:\\"');
    for (const id of [...ids.keys()].filter((id) => ['list', 'reply'].includes(ids.get(id) ?? ''))) {
      await mailbox.patchMessages([id], { folderKey: 'trash' });
      await mailbox.deleteMessages([id]);
      ids.delete(id);
    }
  });

  it('excludes Trash and Junk unless a folder is named', async () => {
    expect(await find('invoice in:trash')).toEqual(['trash']);
    expect(await find('invoice in:any')).toEqual(['trash', 'cafe']);
    expect(await find('in:"Work/Clients"')).toEqual([]);
    expect(await find('in:nowhere')).toContain('At character 1: there is no folder');
  });

  it('combines terms with OR, negation and parentheses', async () => {
    expect(await find('東京 OR cafe')).toEqual(['tokyo', 'cafe']);
    expect(await find('in:inbox -is:read -has:attachment -東京 -회의')).toEqual(['work', 'cafe']);
    expect(await find('-cafe -invoices')).toEqual(['read', 'work', 'pdf', 'korean', 'tokyo']);
    expect(await find('(is:flagged OR cafe) -client')).toEqual(['cafe']);
    expect(await find('(from:grace OR is:read) is:flagged')).toEqual(['work']);
  });

  it('ranks a word in the subject above one in the body, whatever their age', async () => {
    expect(await find('tokyo', 'relevance')).toEqual(['tokyo']);
    await put('client list', { text: 'x' }, { receivedAt: Date.UTC(2020, 0, 1) });
    expect(await find('client', 'relevance')).toEqual(['client list', 'work']);
    expect(await find('client', 'newest')).toEqual(['work', 'client list']);
  });

  it('shows the words around a hit, and gives the position of a syntax error', async () => {
    const found = await mailbox.search({ query: 'invoices', sort: 'relevance', page: null, limit: 5 });
    expect(found.ok && found.value.hits[0]?.snippet).toContain('Two invoices are open');
    expect(await find('a "b')).toContain('At character 3');
  });

  it('returns every hit once over all pages, in either order', async () => {
    for (const sort of ['relevance', 'newest'] as const) {
      const seen: string[] = [];
      let page = null;
      do {
        const found = await mailbox.search({ query: 'in:any', sort, page, limit: 3 });
        if (!found.ok) throw new Error('refused');
        seen.push(...found.value.hits.map((hit) => hit.message.messageId));
        page = found.value.next;
      } while (page);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toHaveLength(ids.size);
    }
    const seen: string[] = [];
    let page = null;
    do {
      const found = await mailbox.search({ query: 'test in:any', sort: 'relevance', page, limit: 3 });
      if (!found.ok) throw new Error('refused');
      seen.push(...found.value.hits.map((hit) => hit.message.messageId));
      page = found.value.next;
    } while (page);
    expect(new Set(seen).size).toBe(ids.size);
    expect(seen).toHaveLength(ids.size);
  });

  it('does not find an erased message', async () => {
    await put('gone', { text: 'ephemeral' });
    const [id] = [...ids].find(([, name]) => name === 'gone') ?? [''];
    expect(await find('ephemeral')).toEqual(['gone']);
    await mailbox.deleteMessages([id]);
    expect(await find('ephemeral')).toEqual([]);
    expect(await find('ephemeral in:trash')).toEqual(['gone']);
    await mailbox.deleteMessages([id]);
    expect(await find('ephemeral in:any')).toEqual([]);
    ids.delete(id);
  });
});
