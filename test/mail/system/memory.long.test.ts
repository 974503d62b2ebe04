/** Sends large messages in both directions. The memory of workerd stays bounded, and every byte arrives. */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  awaitMessage,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { watchMemory } from '../../support/workerd-memory.ts';

const MB = 1024 * 1024;
/**
 * Limit of the growth of memory, as a multiple of the raw bytes in flight. An earlier version that held whole messages needed more
 * than five. Most of the limit is for the local R2, which runs in the same process and holds two copies of every message in flight.
 */
const GROWTH_MAX = 2;
const TIMEOUT_MS = 600_000;
const USERS = ['ann', 'bob', 'cat', 'dan', 'eve', 'fay'];

let server: TestServer;
let users: MailUser[];
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1' } });
  users = await Promise.all(USERS.map((name) => registerUser(server, name)));
  for (const { userId } of users) {
    const { status } = await server.call('PATCH', `/v1/accounts/${userId}`, { account_type: 'business' });
    expect(status).toBe(200);
  }
});
afterAll(() => server[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const toRaw = (to: string, subject: string, file: Buffer): Buffer =>
  Buffer.from(
    [
      'From: Far Away <a@far.test>',
      `To: ${to}`,
      `Subject: ${subject}`,
      `Date: ${new Date().toUTCString()}`,
      `Message-ID: <${randomBytes(8).toString('hex')}@far.test>`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b1',
      '',
      '--b1',
      'Content-Type: text/plain',
      '',
      'Here is the film.',
      '--b1',
      'Content-Type: application/octet-stream; name=film.bin',
      'Content-Transfer-Encoding: base64',
      'Content-Disposition: attachment; filename=film.bin',
      '',
      (file.toString('base64').match(/.{1,76}/g) ?? []).join('\r\n'),
      '--b1--',
      '',
    ].join('\r\n'),
  );

async function download(user: MailUser, id: string): Promise<Buffer> {
  const path = `/v1/messages/${id}/attachments/film.bin`;
  const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${user.token}` } });
  return Buffer.from(await response.arrayBuffer());
}

for (const [size, count] of [
  [25 * MB, 6],
  [50 * MB, 1],
] as const) {
  it(
    `receives ${count} messages of ${size / MB} MB at once in bounded memory`,
    async () => {
      const file = randomBytes(size);
      const subject = `film of ${size / MB}`;
      const memory = await watchMemory(server, async () => {
        const receivers = users.slice(0, count);
        const answers = await Promise.all(
          receivers.map((user) =>
            postInbound(server, toRaw(user.email, subject, file), { from: 'a@far.test', to: user.email }),
          ),
        );
        expect(answers.map((answer) => answer.status)).toEqual(receivers.map(() => 202));
        for (const user of receivers)
          await until(
            'delivered',
            async () => (await listFolder(server, user, 'inbox')).find((m) => m.subject === subject),
            TIMEOUT_MS,
          );
      });
      console.log(
        JSON.stringify({
          in: `${count} x ${size / MB} MB`,
          before: memory.before / MB,
          growth: (memory.peak - memory.before) / MB,
        }),
      );
      expect(memory.peak - memory.before).toBeLessThan(GROWTH_MAX * count * size * 1.37);
      const message = await awaitMessage(server, users[0] as MailUser, 'inbox', subject);
      expect(sha256(await download(users[0] as MailUser, message.id))).toBe(sha256(file));
    },
    TIMEOUT_MS,
  );

  it(
    `sends ${count} messages of ${size / MB} MB at once in bounded memory`,
    async () => {
      const file = randomBytes(size);
      const subject = `sent film of ${size / MB}`;
      const memory = await watchMemory(server, async () => {
        await Promise.all(
          users.slice(0, count).map(async (user) => {
            const uploaded = await fetch(`${server.url}/v1/attachments?file_name=film.bin`, {
              method: 'POST',
              headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/octet-stream' },
              body: new Uint8Array(file),
            });
            const { attachment_id } = (await uploaded.json()) as { attachment_id: string };
            const sent = await server.call(
              'POST',
              '/v1/messages',
              { to: [{ email: `${user.userId}@outside.test` }], subject, body: 'x', attachments: [{ attachment_id }] },
              user.token,
            );
            expect(sent.status).toBe(202);
          }),
        );
        await until(
          'all are sent',
          async () => (readSink(server).filter((m) => m.raw.includes(subject)).length === count ? true : undefined),
          TIMEOUT_MS,
        );
      });
      console.log(
        JSON.stringify({
          out: `${count} x ${size / MB} MB`,
          before: memory.before / MB,
          growth: (memory.peak - memory.before) / MB,
        }),
      );
      expect(memory.peak - memory.before).toBeLessThan(GROWTH_MAX * count * size * 1.37);
    },
    TIMEOUT_MS,
  );
}
