/**
 * Kills the server repeatedly under load in both directions. Every acknowledged message must exist, and duplicates must be marked
 * uncertain.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { balance, keepSending, openBook } from '../../support/mail/load.ts';
import { listFolder, registerUser } from '../../support/mail/mail.ts';
import { startServer } from '../../support/server.ts';

const KILLS = Number(process.env.KILLS ?? 20);
const CLIENTS = 4;

it(`no accepted message is lost over ${KILLS} kill -9`, async () => {
  const vars = {
    MAIL_HOLD_SECONDS: '0',
    MAIL_RETRY_SECONDS: '1',
    MAIL_LEASE_SECONDS: '8',
    SMTP_TIMEOUT_SECONDS: '3',
    SEND_LIMIT_PER_HOUR: '1000000',
  };
  await using server = await startServer({ vars });
  const users = await Promise.all(['ann', 'bob', 'cat'].map((name) => registerUser(server, name)));
  const book = openBook(users);
  const seed = Number(process.env.SEED ?? Date.now());
  console.log(`seed ${seed}`);
  let state = seed % 2147483647;
  const random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  let isOver = false;
  const clients = Array.from({ length: CLIENTS }, (_, n) => keepSending(server, users, book, `c${n}`, () => isOver));
  for (let kill = 0; kill < KILLS; kill++) {
    await new Promise((resolve) => setTimeout(resolve, 500 + random() * 4_000));
    await server.kill9();
    await server.start();
  }
  isOver = true;
  await Promise.all(clients);
  const counts = await balance(server, users, book);
  console.log(JSON.stringify({ kills: KILLS, ...counts }));
  expect(counts.sent).toBeGreaterThan(KILLS);

  // Two days later, blobs that the kills left without a row must be collected, and nothing else: every message must still have its
  // bytes.
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String(2 * 24 * 3_600) });
  const readReports = () =>
    readFileSync(join(server.directory, 'server.log'), 'latin1').match(/"event":"orphans_removed".*/g);
  await new Promise((resolve) => setTimeout(resolve, 130_000));
  console.log(readReports());
  for (const user of users) {
    for (const folder of ['inbox', 'sent']) {
      for (const { id } of await listFolder(server, user, folder)) {
        const headers = { authorization: `Bearer ${user.token}` };
        const raw = await fetch(`${server.url}/v1/messages/${id}/raw`, { headers });
        expect([id, raw.status, (await raw.text()).includes('Subject: ')]).toEqual([id, 200, true]);
      }
    }
  }
});
