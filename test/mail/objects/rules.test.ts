import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import type { FilterRule } from '../../../workers/mail/domain/filter-rule.ts';
import { delivery } from '../../support/mail/messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
const rule = (parts: Partial<FilterRule>): FilterRule => ({
  name: 'A rule',
  enabled: true,
  match: 'all',
  conditions: [],
  actions: [],
  ...parts,
});
const LIMITS = { perHour: 200, perHourFirstDay: 200, perHourFirstWeek: 200 };
const subjectHas = (text: string) => ({ field: 'subject', operator: 'contains', value: text }) as const;

let mailbox: MailboxRpc;
beforeEach(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
});
const arrive = async (parsed: Parameters<typeof delivery>[0], input: Parameters<typeof delivery>[1] = {}) => {
  const stored = value(await mailbox.storeMessage(delivery(parsed, { applyRules: true, ...input })));
  return value(await mailbox.readMessage(stored.messageId));
};

describe('filters', () => {
  it('move, label, mark and flag incoming mail in order, until one of them stops', async () => {
    const folder = value(await mailbox.createFolder('Bills'));
    await mailbox.insertFilter(
      rule({
        conditions: [subjectHas('INVOICE')],
        actions: [
          { type: 'move', folder_id: folder.folder_id },
          { type: 'label', label: 'money' },
        ],
      }),
      null,
    );
    await mailbox.insertFilter(
      rule({ conditions: [subjectHas('paid')], actions: [{ type: 'mark_read' }, { type: 'stop' }] }),
      null,
    );
    await mailbox.insertFilter(rule({ actions: [{ type: 'flag' }] }), null);
    expect(await arrive({ subject: 'Your invoice' })).toMatchObject({
      folderId: folder.folder_id,
      labels: ['money'],
      isRead: false,
      isFlagged: true,
    });
    expect(await arrive({ subject: 'Invoice paid' })).toMatchObject({
      folderId: folder.folder_id,
      isRead: true,
      isFlagged: false,
    });
    expect(await arrive({ subject: 'Other' })).toMatchObject({ folderRole: 'inbox', isFlagged: true });
    const [bills] = value(await mailbox.listFolders()).filter((each) => each.name === 'Bills');
    expect(bills).toMatchObject({ total: 2, unread: 1 });
  });

  it('match sender, recipient, header, size, attachment, any, and negation', async () => {
    const label = async (name: string, parts: Partial<FilterRule>) =>
      value(await mailbox.insertFilter(rule({ ...parts, actions: [{ type: 'label', label: name }] }), null));
    await label('from', { conditions: [{ field: 'from', operator: 'ends_with', value: '@Elsewhere.test' }] });
    await label('to', { conditions: [{ field: 'to', operator: 'is', value: 'copy@example.test' }] });
    await label('header', {
      conditions: [{ field: 'header', header_name: 'x-kind', operator: 'begins_with', value: 'new' }],
    });
    await label('large', { conditions: [{ field: 'size', operator: 'larger', bytes: 999 }] });
    await label('plain', { conditions: [{ field: 'has_attachment', negate: true }] });
    await label('either', {
      match: 'any',
      conditions: [subjectHas('nothing'), { field: 'body', operator: 'contains', value: 'CAFE' }],
    });
    await label('never', { enabled: false });
    const message = await arrive({
      cc: [{ name: '', email: 'copy@example.test' }],
      headers: [{ name: 'X-Kind', value: 'newsletter' }],
      text: 'au café',
    });
    expect(message.labels).toEqual(['either', 'from', 'header', 'large', 'plain', 'to']);
  });

  it('are reordered, replaced and removed', async () => {
    const first = value(await mailbox.insertFilter(rule({ name: 'one', actions: [{ type: 'flag' }] }), null));
    const second = value(await mailbox.insertFilter(rule({ name: 'two', actions: [{ type: 'flag' }] }), 0));
    const names = async () => value(await mailbox.listFilters()).map((filter) => filter.name);
    expect(await names()).toEqual(['two', 'one']);
    await mailbox.replaceFilter(second.filterId, rule({ name: 'zwei', actions: [{ type: 'flag' }] }), 1);
    expect(await names()).toEqual(['one', 'zwei']);
    await mailbox.deleteFilter(first.filterId);
    expect(await names()).toEqual(['zwei']);
    expect(await mailbox.insertFilter(rule({ actions: [{ type: 'move', folder_id: 'all' }] }), null)).toMatchObject({
      ok: false,
    });
    expect(await mailbox.insertFilter(rule({ actions: [{ type: 'forward', to: 'x@y.test' }] }), null)).toMatchObject({
      ok: false,
    });
  });

  it('run over existing mail, and skip Trash and sent mail', async () => {
    for (let n = 0; n < 250; n += 1) await mailbox.storeMessage(delivery({ subject: n % 2 ? 'odd' : 'even' }));
    await mailbox.storeMessage(delivery({ subject: 'odd' }, { folder: 'trash' }));
    await mailbox.storeMessage(delivery({ subject: 'odd' }, { folder: 'sent', origin: 'sent' }));
    const filter = value(
      await mailbox.insertFilter(
        rule({ enabled: false, conditions: [subjectHas('odd')], actions: [{ type: 'move', folder_id: 'archive' }] }),
        null,
      ),
    );
    const first = value(await mailbox.applyFilter(filter.filterId, Number.MAX_SAFE_INTEGER));
    const second = value(await mailbox.applyFilter(filter.filterId, first.before ?? 0));
    expect([first.looked + second.looked, first.changed + second.changed, second.before]).toEqual([250, 125, null]);
    expect(value(await mailbox.listFolders()).find((folder) => folder.role === 'archive')?.total).toBe(125);
  });
});

describe('automatic mail', () => {
  const queued = () =>
    runInMailbox((sql) =>
      [...sql.exec('SELECT kind, recipient FROM automatic_send ORDER BY send_id')].map(
        (row) => `${row.kind} ${row.recipient}`,
      ),
    );
  const runInMailbox = async <T>(work: (sql: SqlStorage) => T): Promise<T> => {
    const { runInDurableObject } = await import('cloudflare:test');
    const stub = mailbox as unknown as DurableObjectStub;
    return runInDurableObject(stub, (_, state) => work(state.storage.sql));
  };
  const vacation = {
    isEnabled: true,
    subject: '',
    body: 'Away',
    startsAt: null,
    endsAt: null,
    addresses: ['user@example.test'],
  };

  it('replies to each sender once a week, and never to lists, machines, reports, or mail for other users', async () => {
    await mailbox.writeSettings({ vacation });
    await arrive({});
    await arrive({});
    await arrive({}, { envelopeFrom: 'other@elsewhere.test' });
    await arrive({}, { envelopeFrom: '' });
    await arrive({}, { envelopeFrom: 'no-reply@shop.test' });
    await arrive({ headers: [{ name: 'List-Id', value: '<l>' }] }, { envelopeFrom: 'a@x.test' });
    await arrive({ headers: [{ name: 'Auto-Submitted', value: 'auto-generated' }] }, { envelopeFrom: 'b@x.test' });
    await arrive({ headers: [{ name: 'Precedence', value: 'bulk' }] }, { envelopeFrom: 'c@x.test' });
    await arrive(
      { to: [{ name: '', email: 'someone@example.test' }] },
      { envelopeFrom: 'd@x.test', envelopeTo: 'list@example.test' },
    );
    expect(await queued()).toEqual(['vacation ada@elsewhere.test', 'vacation other@elsewhere.test']);
  });

  it('replies only between its dates', async () => {
    await mailbox.writeSettings({ vacation: { ...vacation, endsAt: Date.now() - 1_000 } });
    await arrive({});
    expect(await queued()).toEqual([]);
  });

  it('forwards only after the owner has confirmed the code, and never in a loop', async () => {
    expect(await mailbox.requestForwardTarget('me@elsewhere.test', LIMITS)).toMatchObject({ ok: true });
    const code = await runInMailbox((sql) =>
      String(sql.exec('SELECT message_id FROM automatic_send').one().message_id),
    );
    expect(await mailbox.confirmForwardTarget('me@elsewhere.test', '00000000x')).toMatchObject({
      ok: false,
    });
    expect(await mailbox.confirmForwardTarget('me@elsewhere.test', code)).toMatchObject({ ok: true });
    value(await mailbox.insertFilter(rule({ actions: [{ type: 'forward', to: 'Me@elsewhere.test' }] }), null));
    await arrive({});
    await arrive({}, { envelopeFrom: '' });
    const { userId } = value(await mailbox.readProfile());
    await arrive({ headers: [{ name: 'X-Tessera-Forwarded-By', value: userId }] });
    expect(await queued()).toEqual(['confirm me@elsewhere.test', 'forward me@elsewhere.test']);
  });
});

describe('contacts', () => {
  it('are collected from sent mail and found by the beginning of a word', async () => {
    const sent = { origin: 'sent', folder: 'sent' } as const;
    await mailbox.storeMessage(delivery({ to: [{ name: 'Grace Hopper', email: 'Grace@navy.test' }] }, sent));
    await mailbox.storeMessage(
      delivery({ to: [{ name: '', email: 'grace@navy.test' }], bcc: [{ name: 'Bob', email: 'bob@x.test' }] }, sent),
    );
    const find = async (text: string) =>
      value(await mailbox.listContacts(text, null, 10)).map((contact) => `${contact.name} ${contact.sentCount}`);
    expect(await find('')).toEqual(['Grace Hopper 2', 'Bob 1']);
    expect(await find('hop')).toEqual(['Grace Hopper 2']);
    expect(await find('grace@')).toEqual(['Grace Hopper 2']);
    expect(await find('%')).toEqual([]);
    value(await mailbox.insertContact({ name: 'Admiral', email: 'grace@navy.test', note: '' }));
    await mailbox.storeMessage(delivery({ to: [{ name: 'G', email: 'grace@navy.test' }] }, sent));
    expect(await find('adm')).toEqual(['Admiral 3']);
    expect(await mailbox.insertContact({ name: 'X', email: 'grace@navy.test', note: '' })).toMatchObject({
      ok: false,
    });
  });
});
