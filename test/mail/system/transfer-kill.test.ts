/** Tests interrupted imports and exports: the server is killed, or the client disconnects. */
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatMbox, readMboxMessage } from '../../../workers/mail/domain/mbox.ts';
import { MboxSplitter } from '../../../workers/mail/domain/mbox-splitter.ts';
import {
  confirmSession,
  importWhole,
  listFolder,
  type MailUser,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const COUNT = 60;
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const receivedAtOf = (n: number) => Date.UTC(2010, 0, 1) + n * 3_600_000;
const messages = Array.from({ length: COUNT }, (_, n) =>
  Buffer.from(
    `From: Sender <s${n}@elsewhere.test>\r\nSubject: Number ${n}\r\nMessage-ID: <${n}@elsewhere.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nFrom here: body ${n} ${'words '.repeat(50 * n)}\r\n--b\r\nContent-Type: application/pdf; name="a${n}.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(`file ${n}`).toString('base64')}\r\n--b--\r\n`,
  ),
);
const file = Buffer.concat(
  messages.map((raw, n) =>
    formatMbox(
      raw,
      { isRead: n % 2 === 0, isFlagged: n % 3 === 0, labels: n % 5 === 0 ? ['kept label'] : [], folder: 'Old' },
      { messageId: `m${n}`, sender: 's@elsewhere.test', receivedAt: receivedAtOf(n) },
    ),
  ),
);

const headersOf = (user: MailUser) => ({ authorization: `Bearer ${user.token}`, 'content-type': 'application/mbox' });
const importFile = (user: MailUser, body: Buffer) => importWhole(server, user.token, new Uint8Array(body));
async function countMessages(user: MailUser): Promise<number> {
  const { body } = await server.call('GET', '/v1/folders', undefined, user.token);
  return body.find((folder: { name: string }) => folder.name === 'Old')?.total ?? 0;
}

/** Checks that each message exists once, whole, with its date, flags and label, and that the quota is exact. */
async function expectAll(user: MailUser): Promise<void> {
  const summaries = await listFolder(server, user, 'all');
  expect(summaries).toHaveLength(COUNT);
  const { body: me } = await server.call('GET', '/v1/me', undefined, user.token);
  expect(me.quota.used_bytes).toBe(messages.reduce((sum, raw) => sum + raw.length, 0));
  for (const summary of summaries) {
    const n = Number(/\d+$/.exec(summary.subject)?.[0]);
    expect(summary).toMatchObject({
      is_read: n % 2 === 0,
      is_flagged: n % 3 === 0,
      labels: n % 5 === 0 ? ['kept label'] : [],
      received_at: new Date(receivedAtOf(n)).toISOString(),
    });
  }
  for (const summary of summaries.filter((_, at) => at % 10 === 0)) {
    const headers = { authorization: `Bearer ${user.token}` };
    const raw = await fetch(`${server.url}/v1/messages/${summary.id}/raw`, { headers });
    const n = Number(/\d+$/.exec(summary.subject)?.[0]);
    expect(sha(new Uint8Array(await raw.arrayBuffer()))).toBe(sha(messages[n] ?? Buffer.alloc(0)));
    const name = `a${n}.pdf`;
    const part = await fetch(`${server.url}/v1/messages/${summary.id}/attachments/${name}`, { headers });
    expect(await part.text()).toBe(`file ${n}`);
  }
}

describe('an import', () => {
  it('that is killed is complete after a retry, without duplicates', async () => {
    const user = await registerUser(server, 'killed');
    const answer = fetch(`${server.url}/v1/import`, {
      method: 'POST',
      headers: headersOf(user),
      body: new Uint8Array(file),
    });
    const broken = expect(answer).rejects.toThrow();
    await until('some imported messages', async () => ((await countMessages(user)) >= 20 ? true : undefined));
    await server.kill9();
    await broken;
    await server.start();
    expect(await countMessages(user)).toBeLessThan(COUNT);
    const report = await importFile(user, file);
    expect(report).toMatchObject({ messages: COUNT, failed: 0 });
    expect(Number(report.duplicates)).toBeGreaterThanOrEqual(20);
    expect(Number(report.imported) + Number(report.duplicates)).toBe(COUNT);
    await expectAll(user);
  });

  it('whose client disconnects in the middle of a message stores no partial message', async () => {
    const user = await registerUser(server, 'dropped');
    const upload = request(`${server.url}/v1/import`, { method: 'POST', headers: headersOf(user) });
    upload.on('error', () => {});
    upload.write(file.subarray(0, Math.floor(file.length / 2)));
    await until('some imported messages', async () => ((await countMessages(user)) > 5 ? true : undefined));
    upload.destroy();
    await importFile(user, file);
    await expectAll(user);
  });

  it('that is sent three times at once adds each message once', async () => {
    const user = await registerUser(server, 'thrice');
    const reports = await Promise.all([1, 2, 3].map(() => importFile(user, file)));
    expect(reports.reduce((sum, report) => sum + Number(report.imported), 0)).toBe(COUNT);
    await expectAll(user);
  });

  it('of a truncated file reports it, and stores no partial message', async () => {
    const user = await registerUser(server, 'cut');
    const end = file.indexOf('Subject: Number 40') + 20;
    expect(await importFile(user, file.subarray(0, end))).toMatchObject({
      messages: 41,
      imported: 40,
      failed: 1,
      failures: [{ index: 40, code: 'cut_off' }],
    });
    await importFile(user, file);
    await expectAll(user);
  });

  it('treats forged export headers as text', async () => {
    const user = await registerUser(server, 'forged');
    const forged = Buffer.from(
      'From a Tue Feb  3 04:05:06 2026\nX-Tessera-Export: 12 99999999999999999999\nX-Tessera-Flags: R\nX-Tessera-Labels: %E0%A4%A %\nX-Tessera-Folder: %\nSubject: hi\n\n\n',
    );
    expect(await importFile(user, forged)).toMatchObject({ imported: 1, failed: 0 });
    const [summary] = await listFolder(server, user, 'all');
    expect(summary).toMatchObject({ subject: 'hi', is_read: true });
  });
});

describe('an export', () => {
  it('that is killed breaks the download, and resumes after the last complete message', async () => {
    const user = await registerUser(server, 'exported');
    await importFile(user, file);
    await confirmSession(server, user.token);
    const headers = { authorization: `Bearer ${user.token}` };
    const whole = Buffer.from(await (await fetch(`${server.url}/v1/export`, { headers })).arrayBuffer());
    const got: Uint8Array[] = [];
    const reading = (async () => {
      const answer = await fetch(`${server.url}/v1/export`, { headers });
      for await (const chunk of answer.body ?? []) {
        got.push(chunk);
        if (got.length === 3) await server.kill9();
      }
    })();
    await expect(reading).rejects.toThrow();
    await server.start();
    const part = Buffer.concat(got);
    expect(part.length).toBeLessThan(whole.length);
    // Keep the complete messages of the file, as a client does. The last one has the id after which to resume.
    const separators = [...part.toString('latin1').matchAll(/^From \S+ .*\nX-Tessera-Export: (\d+) /gm)];
    const kept = part.subarray(0, separators.at(-1)?.index ?? 0);
    const lastId = [...kept.toString('latin1').matchAll(/^X-Tessera-Id: (\S+)$/gm)].at(-1)?.[1];
    const rest = await fetch(`${server.url}/v1/export${lastId ? `?after=${lastId}` : ''}`, { headers });
    const joined = Buffer.concat([kept, Buffer.from(await rest.arrayBuffer())]);
    expect(joined.equals(whole)).toBe(true);
    const splitter = new MboxSplitter(1e9);
    expect([...splitter.push(joined), ...splitter.end()].map((span) => sha(readMboxMessage(span).raw))).toEqual(
      messages.map(sha),
    );
  });
});
