/**
 * Tests flows that work locally and would fail only under the rules of the production platform (`test/support/platform/rules.ts`).
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listFolder, type MailUser, postInbound, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
const users: MailUser[] = [];

beforeAll(async () => {
  server = await startServer();
  for (const name of ['ann', 'bob', 'cy', 'dee']) users.push(await registerUser(server, name));
});
afterAll(() => server[Symbol.asyncDispose]());

/** Makes a message that contains another message with three files, like "forward as attachment". */
function toForwarded(subject: string): string {
  const file = (name: string) =>
    [
      '--inner',
      'Content-Type: application/octet-stream',
      `Content-Disposition: attachment; filename=${name}`,
      'Content-Transfer-Encoding: base64',
      '',
      randomBytes(900_000).toString('base64').replace(/.{76}/g, '$&\r\n'),
    ].join('\r\n');
  return [
    'From: Far Away <a@far.test>',
    'To: team@example.test',
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${subject}@far.test>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=outer',
    '',
    '--outer',
    'Content-Type: message/rfc822',
    '',
    'From: First <f@far.test>',
    'Subject: inside',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=inner',
    '',
    ...['a.bin', 'b.bin', 'c.bin'].map(file),
    '--inner--',
    '--outer--',
    '',
  ].join('\r\n');
}

it('delivers forwarded mail with large files to several people at once', async () => {
  const subjects = Array.from({ length: 8 }, (_, at) => `forwarded-${at}`);
  const to = users.map((user) => user.email);
  await Promise.all(
    subjects.map((subject) => postInbound(server, toForwarded(subject), { from: 'a@far.test', to: to.join(',') })),
  );
  await until('8 messages in each mailbox', async () => {
    for (const user of users) {
      const found = [...(await listFolder(server, user, 'inbox')), ...(await listFolder(server, user, 'junk'))];
      if (found.length < subjects.length) return undefined;
    }
    return true;
  });
  const [message] = await listFolder(server, users[0] as MailUser, 'inbox');
  expect(subjects).toContain(message.subject);
});
