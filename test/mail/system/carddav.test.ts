/** Tests contacts over CardDAV, with vdirsyncer as the program of a person and with single requests. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeCard } from '../../support/mail/card-text.ts';
import { type CardUser, callDav, type DavRequest, registerCardUser, SyncedFolder } from '../../support/mail/carddav.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: CardUser;
let bob: CardUser;
beforeAll(async () => {
  server = await startServer();
  [ann, bob] = await Promise.all([registerCardUser(server, 'ann'), registerCardUser(server, 'bob')]);
});
afterAll(() => server[Symbol.asyncDispose]());

const dav = (user: CardUser | null, request: DavRequest) => callDav(server, user, request);
const contacts = async (user: CardUser) => (await server.call('GET', '/v1/contacts', undefined, user.token)).body.data;
const card = (name: string, user = ann) => `${user.book}${name}`;

it.skipIf(!hasClient('vdirsyncer'))('vdirsyncer keeps a folder and the contacts of the app the same', async () => {
  const contact = { name: 'Bea Berg', email: 'bea@far.test', note: 'Plays chess' };
  const { body: made } = await server.call('POST', '/v1/contacts', contact, bob.token);
  const folder = new SyncedFolder(server, bob);
  await folder.sync();
  const [[name, text] = ['', '']] = Object.entries(folder.read());
  expect(text).toContain('FN:Bea Berg');
  expect(text).toContain('NOTE:Plays chess');

  const given = makeCard('zoe-1', 'Zoe@far.test');
  folder.write('zoe-1.vcf', given);
  folder.write(name, text.replace('FN:Bea Berg', 'FN:Bea Bergman\r\nTEL:+1 555'));
  await folder.sync();
  expect((await contacts(bob)).map((each: { name: string; email: string }) => [each.email, each.name])).toEqual([
    ['bea@far.test', 'Bea Bergman'],
    ['zoe@far.test', 'Zoë Ångström'],
  ]);
  expect((await dav(bob, { method: 'GET', path: card('zoe-1.vcf', bob) })).text).toBe(given);

  await server.call('PUT', `/v1/contacts/${made.id}`, { ...contact, name: 'Bea Holm' }, bob.token);
  rmSync(join(folder.folder, 'contacts', 'zoe-1.vcf'));
  await folder.sync();
  const kept = folder.read()[name] ?? '';
  expect([kept.includes('FN:Bea Holm'), kept.includes('TEL:+1 555')]).toEqual([true, true]);
  expect((await contacts(bob)).map(({ email }: { email: string }) => email)).toEqual(['bea@far.test']);
});

const SYNC = (token: string, more = '') =>
  `<d:sync-collection xmlns:d="DAV:"><d:sync-token>${token}</d:sync-token><d:sync-level>1</d:sync-level>${more}<d:prop><d:getetag/></d:prop></d:sync-collection>`;
const tokenIn = (text: string) => /<d:sync-token>(.*?)<\/d:sync-token>/.exec(text)?.[1] ?? '';
const hrefsIn = (text: string) => [...text.matchAll(/contacts\/([^<]+)<\/d:href>/g)].map(([, name]) => name);

it('tells what changed, overwrites only what was read, and keeps bytes and ETags', async () => {
  const found = await dav(null, { method: 'PROPFIND', path: '/.well-known/carddav' });
  expect([found.status, found.headers.get('location')]).toEqual([301, '/v1/carddav/']);
  const put = (name: string, body: string, headers: Record<string, string> = {}) =>
    dav(ann, { method: 'PUT', path: card(name), body, headers });
  const first = await put('a%40b.vcf', makeCard('one', 'one@far.test'), { 'if-none-match': '*' });
  const etag = first.headers.get('etag') ?? '';
  expect(first.status).toBe(201);
  const statuses = [
    await put('a%40b.vcf', makeCard('one', 'x@far.test'), { 'if-none-match': '*' }),
    await put('a%40b.vcf', makeCard('one', 'x@far.test'), { 'if-match': '"0"' }),
    await put('other.vcf', makeCard('one', 'x@far.test')),
    await put('bad.vcf', 'BEGIN:VCARD\r\nEND:VCARD\r\n'),
    await put('bad.vcf', makeCard('two', 'x@far.test').replace('3.0', '2.1')),
    await put('bad.vcf', makeCard('two', 'x@far.test'), { 'content-type': 'text/html' }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([412, 412, 409, 403, 403, 415]);

  const begin = await dav(ann, { method: 'REPORT', path: ann.book, body: SYNC('') });
  expect([begin.status, hrefsIn(begin.text)]).toEqual([207, ['a%40b.vcf']]);
  const changed = await put('a%40b.vcf', makeCard('one', 'two@far.test'), { 'if-match': etag });
  expect(changed.status).toBe(204);
  await put('two.vcf', makeCard('two', 'two@far.test', ['VERSION-X:1']));
  const cut = await dav(ann, {
    method: 'REPORT',
    path: ann.book,
    body: SYNC(tokenIn(begin.text), '<d:limit><d:nresults>1</d:nresults></d:limit>'),
  });
  expect([hrefsIn(cut.text)[0], cut.text.includes('507')]).toEqual(['a%40b.vcf', true]);
  const rest = await dav(ann, { method: 'REPORT', path: ann.book, body: SYNC(tokenIn(cut.text)) });
  expect(hrefsIn(rest.text)).toEqual(['two.vcf']);
  expect((await dav(ann, { method: 'DELETE', path: card('a%40b.vcf'), headers: { 'if-match': etag } })).status).toBe(
    412,
  );
  expect((await dav(ann, { method: 'DELETE', path: card('a%40b.vcf') })).status).toBe(204);
  const gone = await dav(ann, { method: 'REPORT', path: ann.book, body: SYNC(tokenIn(rest.text)) });
  expect(gone.text).toMatch(/a%40b\.vcf<\/d:href><d:status>HTTP\/1\.1 404/);
  // The address is still that of the other card.
  expect((await contacts(ann)).map(({ email }: { email: string }) => email)).toEqual(['two@far.test']);
  const query = (value: string) =>
    `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><c:address-data/></d:prop><c:filter><c:prop-filter name="FN"><c:text-match>${value}</c:text-match></c:prop-filter></c:filter></c:addressbook-query>`;
  const hits = await dav(ann, { method: 'REPORT', path: ann.book, body: query('ångSTRÖM') });
  expect([hrefsIn(hits.text), hits.text.includes('X-UNKNOWN;X-P=&quot;a:b;c&quot;')]).toEqual([['two.vcf'], true]);
  expect(hrefsIn((await dav(ann, { method: 'REPORT', path: ann.book, body: query('nobody') })).text)).toEqual([]);
});

it('refuses strangers, revoked tokens, deep requests, entities and tricks with paths', async () => {
  const made = await dav(ann, { method: 'PUT', path: card('own.vcf'), body: makeCard('own', 'own@far.test') });
  expect(made.status).toBe(201);
  const [own, foreign] = [card('own.vcf'), ann.book];
  const entity =
    '<!DOCTYPE d [<!ENTITY a "aaaa">]><d:propfind xmlns:d="DAV:"><d:prop><d:getetag/></d:prop></d:propfind>';
  const refusals: [CardUser | null, DavRequest, number][] = [
    [null, { method: 'PROPFIND', path: own }, 401],
    [{ ...ann, appToken: ann.token.slice(0, -2) }, { method: 'GET', path: own }, 401],
    [{ ...ann, email: bob.email }, { method: 'GET', path: own }, 401],
    [bob, { method: 'GET', path: own }, 404],
    [bob, { method: 'PUT', path: own, body: makeCard('own', 'evil@far.test') }, 404],
    [bob, { method: 'DELETE', path: own }, 404],
    [bob, { method: 'PROPFIND', path: foreign, headers: { depth: '1' } }, 404],
    [bob, { method: 'REPORT', path: foreign, body: SYNC('') }, 404],
    [ann, { method: 'PROPFIND', path: ann.book, headers: { depth: 'infinity' } }, 403],
    [ann, { method: 'PROPFIND', path: ann.book, body: entity }, 400],
    [ann, { method: 'PROPFIND', path: ann.book, body: '<a>'.repeat(5_000) }, 400],
    [ann, { method: 'REPORT', path: ann.book, body: SYNC('urn:tessera:contacts:999999') }, 403],
    [ann, { method: 'REPORT', path: ann.book, body: SYNC('data:,1') }, 403],
    [ann, { method: 'PUT', path: `${ann.book}..%2f..%2fx.vcf`, body: makeCard('x', 'x@far.test') }, 404],
    [ann, { method: 'PUT', path: `${ann.book}a%00b.vcf`, body: makeCard('x', 'x@far.test') }, 404],
    [
      ann,
      { method: 'PUT', path: card('big.vcf'), body: makeCard('x', 'x@far.test', [`PHOTO:${'A'.repeat(600_000)}`]) },
      403,
    ],
    [ann, { method: 'MKCOL', path: `${ann.book}x/` }, 405],
    [ann, { method: 'DELETE', path: ann.book }, 405],
  ];
  for (const [user, request, status] of refusals)
    expect([request.method, request.path, (await dav(user, request)).status]).toEqual([
      request.method,
      request.path,
      status,
    ]);
  const multiget = `<c:addressbook-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><c:address-data/></d:prop><d:href>${own}</d:href></c:addressbook-multiget>`;
  const stolen = await dav(bob, { method: 'REPORT', path: bob.book, body: multiget });
  expect([stolen.text.includes('own@far.test'), stolen.text.includes('404')]).toEqual([false, true]);
  await server.call('DELETE', `/v1/me/tokens/${ann.tokenId}`, undefined, ann.token);
  const ended = await dav(ann, { method: 'GET', path: own });
  expect([ended.status, ended.headers.get('www-authenticate')]).toEqual([
    401,
    'Basic realm="CardDAV", charset="UTF-8"',
  ]);
});
