/** Tests cards in the storage of a mailbox: contacts of the time before cards, forgotten deletions, and addresses in several cards. */
import { env, runInDurableObject } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { makeCard } from '../../support/mail/card-text.ts';
import { value } from '../../support/mail/mailbox-world.ts';

const ANY = { ifMatch: null, ifAbsent: false };

async function open(): Promise<MailboxRpc> {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  return mailbox;
}
const inStorage = (mailbox: MailboxRpc, work: (sql: SqlStorage) => void) =>
  runInDurableObject(mailbox as unknown as DurableObjectStub, (_, { storage }) => work(storage.sql));
const listed = async (mailbox: MailboxRpc) =>
  value(await mailbox.listContacts('', null, 50)).map(({ email, name }) => `${email} ${name}`);
const bounds = { limit: 500, bytesMax: null };

it('makes cards of contacts that were saved before there were cards, once', async () => {
  const mailbox = await open();
  await inStorage(mailbox, (sql) => {
    const insert = 'INSERT INTO contact (email, contact_id, name, is_saved, created_at) VALUES (?, ?, ?, ?, 0)';
    sql.exec(insert, 'old@far.test', 'id', 'Old', 1);
    sql.exec(insert, 'gathered@far.test', 'id2', '', 0);
  });
  const first = value(await mailbox.readCardBook(false));
  expect(value(await mailbox.readCardBook(true))).toEqual(first);
  const { cards } = value(await mailbox.listCards('', { limit: 500, bytesMax: 1e6 }));
  expect(cards.map(({ name, vcard }) => [name, vcard?.includes('FN:Old')])).toEqual([['id.vcf', true]]);
});

it('keeps an address that several cards have as a contact until the last of them goes', async () => {
  const mailbox = await open();
  for (const name of ['a', 'b'])
    value(await mailbox.saveCard({ name, vcard: makeCard(name, 'x@far.test', [`NOTE:${name}`]) }, ANY));
  const [contact] = value(await mailbox.listContacts('', null, 50));
  expect([contact?.note, contact?.isSaved]).toEqual(['a', true]);
  value(await mailbox.deleteCard('a', ANY));
  expect(value(await mailbox.listContacts('', null, 50)).map(({ note }) => note)).toEqual(['b']);
  value(await mailbox.deleteContact(contact?.contactId ?? ''));
  expect([await listed(mailbox), value(await mailbox.listCards('', bounds)).cards]).toEqual([[], []]);
});

it('forgets old deletions, and then knows that a program must compare all cards', async () => {
  const mailbox = await open();
  value(await mailbox.saveCard({ name: 'kept', vcard: makeCard('kept', 'kept@far.test') }, ANY));
  await inStorage(mailbox, (sql) => {
    for (let n = 0; n < 1_000; n += 1)
      sql.exec("INSERT INTO card (card_name, uid, state, size_bytes) VALUES (?, '', ?, 0)", `old ${n}`, -2_000 + n);
  });
  value(await mailbox.saveCard({ name: 'gone', vcard: makeCard('gone', 'gone@far.test') }, ANY));
  expect(value(await mailbox.readCardBook(false)).floor).toBe(0);
  value(await mailbox.deleteCard('gone', ANY));
  const { floor, state } = value(await mailbox.readCardBook(false));
  expect([floor, value(await mailbox.listCardChanges({ state: -3_000, name: '' }, bounds)).next === null]).toEqual([
    -2_000,
    false,
  ]);
  const { changes } = value(await mailbox.listCardChanges({ state: state - 1, name: '' }, bounds));
  expect(changes).toMatchObject([{ name: 'gone', isDeleted: true }]);
});

it('keeps a card without an address byte for byte while contacts are made, changed and deleted in the app', async () => {
  const mailbox = await open();
  const vcard =
    'BEGIN:VCARD\r\nVERSION:3.0\r\nUID:phone\r\nFN:Only Phone\r\nN:Phone;Only;;;\r\nTEL:+49 30 1234\r\nEND:VCARD\r\n';
  value(await mailbox.saveCard({ name: 'phone', vcard }, ANY));
  const fields = { name: 'Only Phone', email: 'one@far.test', note: '' };
  const { contactId } = value(await mailbox.insertContact(fields));
  value(await mailbox.replaceContact(contactId, { ...fields, email: 'two@far.test' }));
  expect(await listed(mailbox)).toEqual(['two@far.test Only Phone']);
  value(await mailbox.deleteContact(contactId));
  const { cards } = value(await mailbox.listCards('', { limit: 500, bytesMax: 1e6 }));
  expect(cards.map((card) => [card.name, card.vcard])).toEqual([['phone', vcard]]);
});
