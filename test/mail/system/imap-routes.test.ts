/** `/v1/imap`, as a bridge uses it: UIDs, marks, copies, removal, headers and trees of parts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importWhole, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;

let server: TestServer;
let user: MailUser;
beforeAll(async () => {
  server = await startServer();
  user = await registerUser(server, 'ida');
});
afterAll(() => server[Symbol.asyncDispose]());

const call = async (method: string, path: string, body?: unknown): Promise<Json> => {
  const answer = await server.call(method, path, body, user.token);
  expect([path, answer.status, answer.body?.detail]).toEqual([path, 200, undefined]);
  return answer.body;
};
const folder = async (role: string): Promise<Json> =>
  (await call('GET', '/v1/imap')).folders.find((each: Json) => each.role === role);
const list = (role: string, query = ''): Promise<Json> => call('GET', `/v1/imap/folders/${role}/messages${query}`);
const changes = (role: string, since: string): Promise<Json> =>
  call('GET', `/v1/imap/folders/${role}/changes?since=${since}`);
const PLAIN = (subject: string) =>
  `From: A <a@far.test>\r\nTo: ida@example.test\r\nSubject: ${subject}\r\nDate: Mon, 02 Nov 2026 10:00:00 +0000\r\n\r\nHello ${subject}\r\n`;
const put = async (subject: string) => {
  await importWhole(server, user.token, PLAIN(subject), 'message/rfc822');
  const { data } = (await server.call('GET', `/v1/messages?q=subject:${subject}`, undefined, user.token)).body;
  return data[0].id as string;
};
const raw = async (id: string, range?: string): Promise<Response> =>
  fetch(`${server.url}/v1/messages/${id}/raw`, {
    headers: { authorization: `Bearer ${user.token}`, ...(range ? { range } : {}) },
  });

describe('UIDs', () => {
  it('ascend, stay with a message, are new after a move, and are told as changes', async () => {
    const [one, two] = [await put('one'), await put('two')];
    const first = await list('inbox');
    expect(first.messages.map((row: Json) => row[1])).toEqual([one, two]);
    const [uid1, uid2] = first.messages.map((row: Json) => row[0]);
    expect(uid1).toBeLessThan(uid2);
    expect(first.uid_next).toBeGreaterThan(uid2);
    expect((await list('inbox', `?after_uid=${uid1}`)).messages.map((row: Json) => row[0])).toEqual([uid2]);
    expect((await list('inbox', '?limit=1')).next_after_uid).toBe(uid1);

    const copied = await call('POST', '/v1/imap/copy', {
      from_folder_id: 'inbox',
      to_folder_id: 'archive',
      message_ids: [one],
      move: true,
    });
    expect(copied.copied[0].slice(0, 2)).toEqual([one, uid1]);
    expect(copied.copied[0][2]).toBeGreaterThan(uid2);
    expect(await changes('inbox', first.state)).toMatchObject({ messages: [], gone: [one], resync: false });
    expect((await changes('archive', first.state)).messages.map((row: Json) => row[1])).toEqual([one]);
    const before = await folder('inbox');
    await call('POST', '/v1/imap/copy', {
      from_folder_id: 'archive',
      to_folder_id: 'inbox',
      message_ids: [one],
      move: true,
    });
    const back = await list('inbox');
    expect(back.messages.map((row: Json) => row[1])).toEqual([two, one]);
    expect(back.messages[1][0]).toBeGreaterThanOrEqual(before.uid_next);
    expect((await folder('archive')).uid_next).toBe(copied.copied[0][2] + 1);
  });

  it('change with each save of a draft, whose bytes have the size that the list says', async () => {
    const made = await server.call('POST', '/v1/drafts', { subject: 'Half', body: 'first' }, user.token);
    const id = made.body.id as string;
    const before = await list('drafts');
    const sized = async (page: Json) => [page.messages[0][3], (await (await raw(id)).arrayBuffer()).byteLength];
    expect((await sized(before))[0]).toBe((await sized(before))[1]);
    expect(before.messages[0][2]).toContain('$draft');
    await server.call('PUT', `/v1/drafts/${id}`, { subject: 'Half', body: 'second, longer' }, user.token);
    const after = await list('drafts');
    expect(after.messages[0][0]).toBeGreaterThanOrEqual(before.uid_next);
    const [told, real] = await sized(after);
    expect(told).toBe(real);
    expect(await (await raw(id)).text()).toBe(await (await raw(id)).text());
    expect(await (await raw(id, 'bytes=0-9')).text()).toBe((await (await raw(id)).text()).slice(0, 10));
    expect(await list('drafts')).toEqual(after);
  });
});

describe('marks', () => {
  it('are keywords; $deleted belongs to the folder, and a state that is too old changes nothing', async () => {
    const id = await put('marked');
    const { state } = await list('inbox');
    const marked = await call('POST', '/v1/imap/flags', {
      folder_id: 'inbox',
      message_ids: [id],
      add: ['$seen', '$deleted', 'Work'],
    });
    expect(marked.messages[0][2].sort()).toEqual(
      ['$deleted', '$seen', 'Work', 'imported'].filter((each) => marked.messages[0][2].includes(each)),
    );
    expect(marked.messages[0][5]).toBeGreaterThan(Number(state));
    expect((await changes('inbox', state)).messages.map((row: Json) => row[1])).toEqual([id]);
    const refused = await call('POST', '/v1/imap/flags', {
      folder_id: 'inbox',
      message_ids: [id],
      remove: ['$seen'],
      unchanged_since: state,
    });
    expect(refused).toMatchObject({ messages: [], modified: [id] });
    await call('POST', '/v1/imap/copy', { from_folder_id: 'inbox', to_folder_id: 'archive', message_ids: [id] });
    const copy = (await list('archive')).messages.find((row: Json) => row[1] === id);
    expect(copy[2]).toContain('Work');
    expect(copy[2]).not.toContain('$deleted');
    const gone = await call('POST', '/v1/imap/expunge', { folder_id: 'inbox', message_ids: null });
    expect(gone.gone.map((each: Json) => each[0])).toEqual([id]);
    expect((await list('archive')).messages.map((row: Json) => row[1])).toContain(id);
    await call('POST', '/v1/imap/flags', { folder_id: 'archive', message_ids: [id], add: ['$deleted'] });
    await call('POST', '/v1/imap/expunge', { folder_id: 'archive', message_ids: [id] });
    expect((await list('trash')).messages.map((row: Json) => row[1])).toEqual([id]);
    await call('POST', '/v1/imap/flags', { folder_id: 'trash', message_ids: [id], add: ['$deleted'] });
    await call('POST', '/v1/imap/expunge', { folder_id: 'trash', message_ids: [id] });
    expect((await raw(id)).status).toBe(404);
  });
});

describe('a subscription', () => {
  it('to a folder stays through a rename', async () => {
    const made = await server.call('POST', '/v1/folders', { name: 'Lists' }, user.token);
    const { id } = made.body;
    const find = async () => (await call('GET', '/v1/imap')).folders.find((each: Json) => each.folder_id === id);
    expect((await find()).is_subscribed).toBe(true);
    await call('PATCH', `/v1/folders/${id}`, { is_subscribed: false });
    await call('PATCH', `/v1/folders/${id}`, { name: 'Old lists' });
    expect(await find()).toMatchObject({ name: 'Old lists', is_subscribed: false });
    expect((await server.call('PATCH', `/v1/folders/${id}`, {}, user.token)).status).toBe(400);
  });
});

describe('a fetch', () => {
  it('answers headers byte for byte, and trees whose positions cut the parts out of the raw message', async () => {
    const inner = PLAIN('inner').replace('Subject', 'X-Odd:  ä\r\nSubject');
    const message = [
      'From: a@far.test',
      'Subject: fetched',
      'Content-Type: multipart/mixed; boundary="b;1"; name*=utf-8\'\'%e2%82%ac',
      '',
      'preamble',
      '--b;1',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'Hello',
      'there',
      '--b;1',
      'Content-Type: message/rfc822',
      'Content-Disposition: attachment; filename="x \\"y\\".eml"',
      '',
      `${inner}--b;1`,
      'Content-Type: application/pdf',
      'Content-Transfer-Encoding: base64',
      'Content-ID: <c@d>',
      '',
      `${'A'.repeat(76)}\r\n`.repeat(400),
      '--b;1--',
      'epilogue',
    ].join('\r\n');
    await importWhole(server, user.token, Buffer.from(message, 'latin1'), 'message/rfc822');
    const { data } = (await server.call('GET', '/v1/messages?q=subject:fetched', undefined, user.token)).body;
    const id = data[0].id as string;
    const { messages, missing } = await call('POST', '/v1/imap/fetch', {
      message_ids: [id, 'nothing'],
      want: ['header', 'structure'],
    });
    expect(missing).toEqual(['nothing']);
    const [{ header, structure }] = messages;
    const bytes = Buffer.from(await (await raw(id)).arrayBuffer()).toString('latin1');
    expect(bytes).toBe(message);
    expect(Buffer.from(header, 'base64').toString('latin1')).toBe(message.slice(0, message.indexOf('preamble')));
    const cut = (part: Json) => bytes.slice(part.body, part.end);
    const [text, attached, file] = structure.parts;
    expect(structure).toMatchObject({
      type: 'multipart',
      subtype: 'mixed',
      parameters: { 'name*': "utf-8''%e2%82%ac" },
    });
    expect([cut(text), text.octets, text.lines]).toEqual(['Hello\r\nthere', 12, 1]);
    expect([cut(attached), attached.octets]).toEqual([inner.slice(0, -2), inner.length - 2]);
    expect(attached.disposition).toEqual({ type: 'attachment', parameters: { filename: 'x "y".eml' } });
    expect(Buffer.from(attached.envelope_header, 'base64').toString('latin1')).toBe(
      inner.slice(0, inner.indexOf('Hello')),
    );
    expect(cut(attached.message)).toBe('Hello inner');
    expect(file).toMatchObject({ id: '<c@d>', encoding: 'base64', octets: 400 * 78 });
    expect(cut(file)).toBe(`${'A'.repeat(76)}\r\n`.repeat(400));
  });
});
