import { env, runDurableObjectAlarm } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ArrivalJudgement, StoreMessageInput } from '../../../durable-objects/mail/contract/delivered-message.ts';
import { putBlob } from '../../../workers/mail/bindings/blobs.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery, type parsedMessage } from '../../support/mail/messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
const BOB = 'bob@broker.test';
const NOBODY = { address: null, list: null };
const proven = (address: string | null, list: string | null = null) => ({ address, list });
const JUNK = JSON.stringify({ score: 3, verdict: 'junk', reasons: [], engine: 'built-in' });

let userId: string;
let mailbox: MailboxRpc;
beforeEach(async () => {
  userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
});

interface Mail {
  from?: string;
  sender?: ArrivalJudgement['sender'];
  junk?: ArrivalJudgement['junk'];
  parsed?: Parameters<typeof parsedMessage>[0];
  input?: Partial<StoreMessageInput>;
}

/** Delivers mail that the checks classify as junk. @returns its folder and its id. */
async function arrive({ from = BOB, sender = proven(from), junk = 'content', parsed = {}, input = {} }: Mail = {}) {
  const rawKey = `mail/${userId}/${crypto.randomUUID()}`;
  await putBlob(
    env,
    rawKey,
    Buffer.from(`From: ${from}\r\nSubject: offer\r\n\r\ncheap mortgage rates for terrapins\r\n`),
  );
  const stored = value(
    await mailbox.storeMessage(
      delivery(
        { from: { name: '', email: from }, ...parsed },
        {
          folder: junk === 'no' ? 'inbox' : 'junk',
          spam: junk === 'no' ? JSON.stringify({ score: 0, verdict: 'ham', reasons: [] }) : JUNK,
          authentication: JSON.stringify({ sender }),
          applyRules: junk === 'no',
          judgement: { sender, junk },
          rawKey,
          ...input,
        },
      ),
    ),
  );
  return { id: stored.messageId, role: stored.folderRole, folderId: stored.folderId };
}
const roleOf = async (mail?: Mail) => (await arrive(mail)).role;
const move = async (id: string, folderKey: string) => value(await mailbox.patchMessages([id], { folderKey }));
const readSpam = async (id: string) => JSON.parse(value(await mailbox.readMessage(id)).spam ?? '{}');
const addContact = async (email: string) => value(await mailbox.insertContact({ name: '', email, note: '' }));
const readModel = async () => {
  const stub = env.MAILBOX.get(env.MAILBOX.idFromName(userId));
  for (let rounds = 0; rounds < 5 && (await runDurableObjectAlarm(stub)); rounds += 1);
  return value(await mailbox.readSpamModel());
};

describe('proven mail of a known sender stays out of Junk', () => {
  it('from a contact, with the reason', async () => {
    await addContact('Bob@Broker.test');
    const { id, role } = await arrive();
    expect(role).toBe('inbox');
    const spam = await readSpam(id);
    expect(spam).toMatchObject({ verdict: 'ham', score: 3 });
    expect(spam.reasons.at(-1)).toMatchObject({ rule: 'KNOWN_SENDER', score: 0 });
  });

  it('from an address that the user wrote to', async () => {
    const to = [{ name: '', email: 'BOB@broker.test' }];
    value(await mailbox.storeMessage(delivery({ to }, { origin: 'sent', folder: 'sent' })));
    expect(await roleOf()).toBe('inbox');
  });

  it('that answers a message of the user, from another address', async () => {
    const headerMessageId = `<${crypto.randomUUID()}@example.test>`;
    const message = {
      ...{ outboxId: crypto.randomUUID(), kind: 'message' as const, headerMessageId, rawKey: `mail/${userId}/x` },
      ...{ ownsRaw: false, sizeBytes: 1, bodyHash: '', isEightBit: false, envelopeFrom: 'ann@example.test' },
      ...{ recipients: [{ email: 'desk@broker.test', domain: 'broker.test' }], holdUntil: Date.now() + 60_000 },
    };
    value(await mailbox.enqueueOutbox(message, 200));
    expect(await roleOf({ parsed: { inReplyTo: headerMessageId } })).toBe('inbox');
    expect(await roleOf({ parsed: { references: ['<a@b>', headerMessageId] } })).toBe('inbox');
    expect(await roleOf({ parsed: { inReplyTo: '<other@example.test>' } })).toBe('junk');
    expect(await roleOf({ parsed: { inReplyTo: headerMessageId }, sender: NOBODY })).toBe('junk');
  });

  it('that the user trusts by address, domain or list', async () => {
    for (const sender of ['ann@shop.test', '@news.test', '<dev.lists.test>'])
      value(await mailbox.saveSender(sender, 'trusted'));
    expect(await roleOf({ from: 'ann@shop.test' })).toBe('inbox');
    expect(await roleOf({ from: 'any@news.test' })).toBe('inbox');
    expect(await roleOf({ from: 'x@y.test', sender: proven(null, 'dev.lists.test') })).toBe('inbox');
    expect(await roleOf({ from: 'bob@shop.test' })).toBe('junk');
    expect(await roleOf({ from: 'any@sub.news.test' })).toBe('junk');
    expect(await roleOf({ from: 'x@y.test', sender: proven(null, 'other.lists.test') })).toBe('junk');
  });

  it('that the user rescued before, as a sender or a list', async () => {
    await move((await arrive()).id, 'inbox');
    expect(await roleOf()).toBe('inbox');
    expect(await roleOf({ from: 'carl@broker.test' })).toBe('junk');
    const posting = { from: 'a@list.test', sender: proven('a@list.test', 'dev.list.test') };
    await move((await arrive(posting)).id, 'archive');
    expect(await roleOf({ from: 'b@list.test', sender: proven('b@list.test', 'dev.list.test') })).toBe('inbox');
    expect(value(await mailbox.listSenders(null, '', 10)).map(({ sender, origin }) => [sender, origin])).toEqual([
      ['<dev.list.test>', 'mail'],
      [BOB, 'mail'],
    ]);
  });
});

describe('trust never covers', () => {
  it.each([
    ['an address that only From claims', { sender: NOBODY }],
    ['another proven address beside a claimed one', { sender: proven('eve@evil.test') }],
    ['a certain verdict', { junk: 'certain' }],
    [
      'a list that is not proven',
      { sender: NOBODY, parsed: { headers: [{ name: 'List-Id', value: '<dev.list.test>' }] } },
    ],
  ] as [string, Mail][])('%s', async (_, mail) => {
    await addContact(BOB);
    value(await mailbox.saveSender('<dev.list.test>', 'trusted'));
    expect(await roleOf(mail)).toBe('junk');
  });
});

describe('a blocked sender goes to Junk', () => {
  it.each([
    ['proven', {}],
    ['only claimed', { sender: NOBODY }],
    ['good by its words', { junk: 'no' }],
    ['good by its words, only claimed', { junk: 'no', sender: NOBODY }],
  ] as [string, Mail][])('%s', async (_, mail) => {
    await addContact(BOB);
    value(await mailbox.saveSender(BOB, 'blocked'));
    const { id, role } = await arrive(mail);
    expect(role).toBe('junk');
    expect((await readSpam(id)).reasons.at(-1)).toMatchObject({ rule: 'BLOCKED_SENDER' });
  });

  it('by its domain, unless its address is trusted and proven', async () => {
    value(await mailbox.saveSender('@broker.test', 'blocked'));
    expect(await roleOf({ junk: 'no' })).toBe('junk');
    value(await mailbox.saveSender(BOB, 'trusted'));
    expect(await roleOf({ junk: 'no' })).toBe('inbox');
    expect(await roleOf()).toBe('inbox');
    expect(await roleOf({ sender: NOBODY })).toBe('junk');
  });

  it('after a known sender was moved to Junk, until it is moved back', async () => {
    await addContact(BOB);
    const { id } = await arrive();
    await move(id, 'junk');
    expect(await roleOf()).toBe('junk');
    await move(id, 'inbox');
    expect(await roleOf()).toBe('inbox');
  });
});

describe('"not junk" trains words only if no sender is proven', () => {
  it('proven: the sender is remembered, and no model is made', async () => {
    for (let n = 0; n < 12; n += 1) await move((await arrive({ from: `news${n}@shop.test` })).id, 'inbox');
    expect(await readModel()).toBeNull();
    expect(value(await mailbox.listSenders('trusted', '', 20))).toHaveLength(12);
  });

  it('not proven: words are trained, and no sender is remembered', async () => {
    await move((await arrive({ sender: NOBODY })).id, 'inbox');
    expect(await readModel()).not.toBeNull();
    expect(value(await mailbox.listSenders(null, '', 20))).toEqual([]);
  });

  it('an unknown proven sender that is moved to Junk is not blocked; words are trained, and a move back undoes it', async () => {
    const { id } = await arrive({ junk: 'no' });
    await move(id, 'junk');
    const trained = await readModel();
    expect(trained).not.toBeNull();
    expect(value(await mailbox.listSenders(null, '', 20))).toEqual([]);
    await move(id, 'inbox');
    expect(await readModel()).not.toEqual(trained);
    expect(value(await mailbox.listSenders('trusted', '', 20))).toHaveLength(1);
  });
});

describe('filters run on Junk', () => {
  const addFilter = async (actions: readonly object[], conditions: readonly object[] = []) => {
    const rule = { name: 'x', enabled: true, match: 'all', conditions, actions };
    value(await mailbox.insertFilter(rule as Parameters<typeof mailbox.insertFilter>[0], null));
  };
  const folderOf = async (name: string) =>
    value(await mailbox.listFolders()).find((each) => each.name === name)?.folder_id ?? '';
  const inbox = async () => value(await mailbox.listFolders()).find((each) => each.role === 'inbox')?.folder_id ?? '';
  const fromBroker = [{ field: 'from', operator: 'contains', value: 'broker.test' }];

  it('if they move, with their other actions', async () => {
    await addFilter(
      [{ type: 'move', folder_id: await inbox() }, { type: 'label', label: 'Bank' }, { type: 'flag' }],
      fromBroker,
    );
    const { id, role } = await arrive({ sender: NOBODY });
    expect(role).toBe('inbox');
    expect(value(await mailbox.readMessage(id))).toMatchObject({ labels: ['Bank'], isFlagged: true });
    expect(await roleOf({ from: 'x@other.test' })).toBe('junk');
  });

  it('if they move to Trash or to a folder', async () => {
    await addFilter([{ type: 'trash' }], fromBroker);
    expect(await roleOf()).toBe('trash');
    value(await mailbox.createFolder('Offers'));
    await addFilter([{ type: 'move', folder_id: await folderOf('Offers') }], fromBroker);
    expect((await arrive()).folderId).toBe(await folderOf('Offers'));
  });

  it.each([
    ['only label', [{ type: 'label', label: 'x' }]],
    ['only mark', [{ type: 'mark_read' }, { type: 'flag' }]],
    ['only stop', [{ type: 'stop' }]],
  ])('but not if they %s', async (_, actions) => {
    await addFilter(actions);
    const { id, role } = await arrive();
    expect(role).toBe('junk');
    expect(value(await mailbox.readMessage(id))).toMatchObject({ labels: [], isRead: false, isFlagged: false });
  });

  it('but neither on certain junk nor on mail of blocked senders', async () => {
    await addFilter([{ type: 'move', folder_id: await inbox() }], fromBroker);
    expect(await roleOf({ junk: 'certain' })).toBe('junk');
    value(await mailbox.saveSender(BOB, 'blocked'));
    expect(await roleOf()).toBe('junk');
    value(await mailbox.saveSender('@other.test', 'blocked'));
    expect(await roleOf({ from: 'x@other.test' })).toBe('junk');
  });
});

describe('the list of senders', () => {
  it.each([
    ['Ann@Shop.TEST', 'Ann@Shop.TEST'.toLowerCase(), 'address'],
    [' ann@shop.test ', 'ann@shop.test', 'address'],
    ['ann@bücher.test', 'ann@xn--bcher-kva.test', 'address'],
    ['@Shop.test', '@shop.test', 'domain'],
    ['@bücher.test', '@xn--bcher-kva.test', 'domain'],
    ['<Dev.Lists.test>', '<dev.lists.test>', 'list'],
  ])('takes %j as %s', async (given, sender, kind) => {
    expect(value(await mailbox.saveSender(given, 'trusted'))).toMatchObject({
      sender,
      kind,
      status: 'trusted',
      origin: 'user',
    });
  });

  it.each([
    '',
    '@',
    'ann',
    'ann@',
    '@shop',
    'shop.test',
    '<>',
    '<dev>',
    '<a..b>',
    '<a b.test>',
    'a b@shop.test',
    `@${'x'.repeat(300)}.test`,
  ])('refuses %j', async (given) => {
    expect((await mailbox.saveSender(given, 'blocked')).ok).toBe(false);
    expect(value(await mailbox.listSenders(null, '', 10))).toEqual([]);
  });

  it('keeps one entry per sender, pages and deletes', async () => {
    for (const sender of ['b@x.test', 'a@x.test', 'c@x.test']) value(await mailbox.saveSender(sender, 'trusted'));
    const again = value(await mailbox.saveSender('A@x.test', 'blocked'));
    expect(value(await mailbox.listSenders('blocked', '', 10)).map(({ sender }) => sender)).toEqual(['a@x.test']);
    expect(value(await mailbox.listSenders(null, 'a@x.test', 1)).map(({ sender }) => sender)).toEqual(['b@x.test']);
    expect((await mailbox.deleteSender(again.senderId)).ok).toBe(true);
    expect((await mailbox.deleteSender(again.senderId)).ok).toBe(false);
    expect(value(await mailbox.listSenders(null, '', 10))).toHaveLength(2);
  });
});
