/**
 * Tests contacts with two foreign programs at once: the library tsdav, as an app would use it, and vdirsyncer with 400 cards, some with
 * pictures. What one of them writes, the other reads byte for byte; tsdav trims the end.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeCard } from '../../support/mail/card-text.ts';
import { type CardUser, registerCardUser, SyncedFolder } from '../../support/mail/carddav.ts';
import type { Json } from '../../support/mail/jmap.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

/** Name of the library in a variable, so that TypeScript does not check its types with this project's settings. */
const LIBRARY: string = 'tsdav';

let server: TestServer;
let ann: CardUser;
let client: Json;
let book: Json;
beforeAll(async () => {
  server = await startServer();
  ann = await registerCardUser(server, 'ann');
  const { createDAVClient } = (await import(LIBRARY)) as { createDAVClient: (options: object) => Promise<Json> };
  client = await createDAVClient({
    serverUrl: server.url,
    credentials: { username: ann.email, password: ann.appToken },
    authMethod: 'Basic',
    defaultAccountType: 'carddav',
  });
  [book] = await client.fetchAddressBooks();
});
afterAll(() => server[Symbol.asyncDispose]());

const cardsOf = async (): Promise<Json[]> => client.fetchVCards({ addressBook: book });

it('tsdav finds the book, and creates, changes, deletes and syncs cards', async () => {
  expect([book.displayName, new URL(book.url).pathname]).toEqual(['Contacts', ann.book]);
  const vCardString = makeCard('one', 'one@far.test');
  const made = await client.createVCard({ addressBook: book, filename: 'one.vcf', vCardString });
  expect(made.status).toBe(201);
  const [card] = await cardsOf();
  expect(card.data).toBe(vCardString.trimEnd());
  const changed = { ...card, data: makeCard('one', 'changed@far.test') };
  expect((await client.updateVCard({ vCard: changed })).status).toBe(204);
  expect((await client.updateVCard({ vCard: changed })).status).toBe(412);
  const synced = await client.syncCollection({
    url: book.url,
    props: { 'd:getetag': {} },
    syncLevel: 1,
    syncToken: book.syncToken,
  });
  expect(synced.map(({ href }: Json) => href)).toContain(`${ann.book}one.vcf`);
  const [newer] = await cardsOf();
  expect((await client.deleteVCard({ vCard: newer })).status).toBe(204);
  expect(await cardsOf()).toEqual([]);
});

it.skipIf(!hasClient('vdirsyncer'))(
  '400 cards of vdirsyncer, in versions 3.0 and 4.0 and with pictures, are those of tsdav',
  async () => {
    const folder = new SyncedFolder(server, ann);
    await folder.sync();
    const picture = `PHOTO;ENCODING=b;TYPE=JPEG:${Buffer.alloc(150_000, 7).toString('base64')}`;
    for (let n = 0; n < 400; n += 1) {
      const card = makeCard(`uid-${n}`, `p${n}@far.test`, n % 20 === 0 ? [picture] : [`NOTE:${n}`]);
      folder.write(`uid-${n}.vcf`, n % 2 === 0 ? card : card.replace('VERSION:3.0', 'VERSION:4.0'));
    }
    const given = folder.read();
    await folder.sync();
    const cards = await cardsOf();
    const stored = Object.fromEntries(cards.map(({ url, data }: Json) => [url.slice(url.lastIndexOf('/') + 1), data]));
    expect(stored).toEqual(Object.fromEntries(Object.entries(given).map(([name, text]) => [name, text.trimEnd()])));
    const other = new SyncedFolder(server, ann);
    await other.sync();
    expect(Object.values(other.read()).sort()).toEqual(Object.values(given).sort());
    const { body } = await server.call('GET', '/v1/contacts?q=p39', undefined, ann.token);
    expect(body.data.length).toBe(11);
  },
  300_000,
);
