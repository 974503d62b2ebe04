/**
 * Pulls a mailbox of 5,000 messages (`MESSAGES`) from a real Dovecot over five cuts (`CUTS`): by turns, the connection is cut, and
 * Tessera is killed. Every message must be there once, with its bytes, date, flags and folder, and no log-in may follow another
 * within a minute.
 */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { hasDovecot, PASSWORD, startDovecot } from '../../support/mail/dovecot.ts';
import { type MailUser, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const MESSAGES = Number(process.env.MESSAGES ?? 5_000);
const CUTS = Number(process.env.CUTS ?? 5);
/** A busy machine stores ten messages per second. */
const PASS_MS_MAX = Math.max(1_200_000, MESSAGES * 100);
const FOLDERS = ['INBOX', 'Sent', 'Work', 'Work.2020', 'Família'];
const OURS = ['Inbox', 'Sent', 'Work', 'Work/2020', 'Família'];
const FIRST = Date.UTC(2010, 0, 1);

const subjectOf = (n: number) => `Message ${n}`;
const rawOf = (n: number) =>
  `From: Friend <friend@elsewhere.test>\r\nTo: me@old.test\r\nSubject: ${subjectOf(n)}\r\nMessage-ID: <${n}@elsewhere.test>\r\n\r\n${`Line of ${n}\r\n`.repeat(20 + (n % 200))}`;
const sha = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

// biome-ignore lint/suspicious/noExplicitAny: responses of the API; the test asserts the members it needs
type Json = any;

async function listAll(server: TestServer, user: MailUser): Promise<Json[]> {
  const { body: folders } = await server.call('GET', '/v1/folders', undefined, user.token);
  const all: Json[] = [];
  for (const folder of folders.filter(({ name }: Json) => OURS.includes(name))) {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const path = `/v1/folders/${folder.id}/messages?limit=200${query}`;
      const { body } = await server.call('GET', path, undefined, user.token);
      all.push(...body.data.map((each: Json) => ({ ...each, folder: folder.name })));
      cursor = body.next_cursor;
    }
  }
  return all.filter(({ subject }) => subject.startsWith('Message '));
}

it.skipIf(!hasDovecot())(`a mailbox of ${MESSAGES} messages moves in over ${CUTS} cuts`, async () => {
  await using dovecot = await startDovecot();
  process.env.NODE_EXTRA_CA_CERTS = dovecot.certificatePath;
  const { imaps, imap } = dovecot.ports;
  await using server = await startServer({ vars: { IMAP_STAND_IN: `localhost:${imaps}:${imap}` } });
  const ann = await registerUser(server, 'ann');
  const old = await dovecot.open('ann');
  for (const folder of FOLDERS.slice(2)) await old.mailboxCreate(folder);
  for (let n = 0; n < MESSAGES; n++) {
    const flags = [...(n % 2 ? ['\\Seen'] : []), ...(n % 7 ? [] : ['\\Flagged'])];
    await old.append(FOLDERS[n % FOLDERS.length] ?? 'INBOX', rawOf(n), flags, new Date(FIRST + n * 60_000));
  }
  await old.logout();
  const filledLogins = dovecot.countLogins('ann');

  const startedAt = Date.now();
  const request = { host: 'localhost', user_name: 'ann', password: PASSWORD };
  expect((await server.call('POST', '/v1/import/pulls', request, ann.token)).status).toBe(201);
  const readPull = async () => (await server.call('GET', '/v1/import/pulls', undefined, ann.token)).body.items[0];
  const countStored = async () => {
    const { body } = await server.call('GET', '/v1/folders', undefined, ann.token);
    return body.reduce((sum: number, { name, total }: Json) => sum + (OURS.includes(name) ? total : 0), 0);
  };
  for (let cut = 0; cut < CUTS; cut++) {
    const wanted = ((cut + 0.5) / (CUTS + 0.5)) * MESSAGES;
    await until(`${wanted} messages`, async () => ((await countStored()) >= wanted ? true : undefined), PASS_MS_MAX);
    console.log(`cut ${cut}: ${JSON.stringify(await readPull())}`);
    if (cut % 2 === 0) dovecot.cut();
    else {
      await server.kill9();
      await server.start();
    }
  }
  const pull = await until(
    'a whole pass',
    async () => ((await readPull()).passes > 0 ? readPull() : undefined),
    PASS_MS_MAX,
  );
  console.log(`${Math.round((Date.now() - startedAt) / 1000)} s: ${JSON.stringify(pull)}`);
  expect(pull).toMatchObject({ failed: 0, remaining: 0, fault: null, state: 'waiting' });
  expect(pull.imported + pull.duplicates).toBeGreaterThanOrEqual(MESSAGES);

  const found = await listAll(server, ann);
  const byNumber = new Map(found.map((each) => [Number(each.subject.slice('Message '.length)), each]));
  expect([found.length, byNumber.size]).toEqual([MESSAGES, MESSAGES]);
  for (const [n, each] of byNumber) {
    const expected = [OURS[n % OURS.length], n % 2 === 1, n % 7 === 0, new Date(FIRST + n * 60_000).toISOString()];
    expect([n, each.folder, each.is_read, each.is_flagged, each.received_at]).toEqual([n, ...expected]);
    if (n % 25 !== 0) continue;
    const headers = { authorization: `Bearer ${ann.token}` };
    const raw = await fetch(`${server.url}/v1/messages/${each.id}/raw`, { headers });
    expect([n, sha(new Uint8Array(await raw.arrayBuffer()))]).toEqual([n, sha(rawOf(n))]);
  }
  const logins = dovecot.loginTimes('ann').slice(filledLogins);
  console.log(`${logins.length} log-ins`);
  // The log of Dovecot has whole seconds.
  for (const [at, time] of logins.slice(1).entries()) expect(time - (logins[at] ?? 0)).toBeGreaterThanOrEqual(59_000);
});
