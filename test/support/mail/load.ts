/** Applies mail load in both directions with a few clients, and records every acknowledged message in a book. */
import { expect } from 'vitest';
import type { TestServer } from '../server.ts';
import { listFolder, type MailUser, postInbound, readSink, until } from './mail.ts';

export interface MailBook {
  /** Subjects of inbound messages that were answered with 202, by user. */
  readonly accepted: Map<string, Set<string>>;
  /** Ids and senders of submitted messages that were answered with 202, by subject. */
  readonly submitted: Map<string, { readonly id: string; readonly sender: MailUser }>;
  /** Subjects of messages from one local account to another, by recipient. */
  readonly local: Map<string, Set<string>>;
}

export function openBook(users: readonly MailUser[]): MailBook {
  const byUser = () => new Map(users.map((user) => [user.email, new Set<string>()]));
  return { accepted: byUser(), submitted: new Map(), local: byUser() };
}

const toRaw = (subject: string, to: string): string =>
  [
    'From: Far Away <a@far.test>',
    `To: ${to}`,
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${subject}@far.test>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Shall we have lunch on Thursday?',
    '',
  ].join('\r\n');

/** Runs one client until `isOver`. Like a real client, it repeats each request until it gets an answer. */
export async function keepSending(
  server: TestServer,
  users: readonly MailUser[],
  book: MailBook,
  name: string,
  isOver: () => boolean,
): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const user = users[n % users.length] as MailUser;
    const other = users[(n + 1) % users.length] as MailUser;
    const subject = `${name}.${n}`;
    // Repeat exactly the same bytes, as a mail server does.
    const raw = toRaw(subject, user.email);
    await tryAgain(isOver, async () => {
      const { status } = await postInbound(server, raw, { from: 'a@far.test', to: user.email });
      if (status === 202) book.accepted.get(user.email)?.add(subject);
      return status === 202;
    });
    await tryAgain(isOver, async () => {
      const response = await fetch(`${server.url}/v1/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${user.token}`,
          'content-type': 'application/json',
          'idempotency-key': subject,
        },
        body: JSON.stringify({
          to: [{ email: `${subject}@outside.test` }, { email: other.email }],
          subject: `out.${subject}`,
          body: 'x',
        }),
      });
      const body = (await response.json()) as { id: string };
      if (response.status !== 202) return false;
      book.submitted.set(subject, { id: body.id, sender: user });
      book.local.get(other.email)?.add(`out.${subject}`);
      return true;
    });
  }
}

async function tryAgain(isOver: () => boolean, attempt: () => Promise<boolean>): Promise<void> {
  while (!isOver()) {
    if (await attempt().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * Waits until no mail is in transit, then compares the book with the mailboxes and the SMTP sink.
 * @returns counts for the report.
 */
export async function balance(server: TestServer, users: readonly MailUser[], book: MailBook) {
  const promises = [...book.accepted.values(), ...book.local.values()].reduce((sum, set) => sum + set.size, 0);
  // The operator's totals lag by a second. Poll until they include at least the acknowledged messages.
  const ledger = await until(
    'nothing is pending',
    async () => {
      const { body: inbound } = await server.call('GET', '/v1/inbound');
      const { body: outbound } = await server.call('GET', '/v1/outbound');
      const isQuiet = inbound.pending === 0 && outbound.size === 0 && inbound.accepted >= promises;
      return isQuiet ? inbound : undefined;
    },
    180_000,
  );
  expect(ledger.balanced).toBe(true);
  let delivered = 0;
  for (const user of users) {
    const received = [...(await listFolder(server, user, 'inbox')), ...(await listFolder(server, user, 'junk'))];
    const counts = new Map<string, number>();
    for (const { subject } of received) counts.set(subject, (counts.get(subject) ?? 0) + 1);
    const promised = [...(book.accepted.get(user.email) ?? []), ...(book.local.get(user.email) ?? [])];
    expect(promised.filter((subject) => !counts.has(subject))).toEqual([]);
    expect([...counts].filter(([, count]) => count > 1)).toEqual([]);
    delivered += received.length;
  }
  await until('the ledger agrees with the mailboxes', async () => {
    const { body } = await server.call('GET', '/v1/inbound');
    return body.accepted === delivered && body.balanced ? true : undefined;
  });
  const copies = new Map<string, number>();
  for (const { envelope } of readSink(server)) {
    for (const to of envelope.to) copies.set(to, (copies.get(to) ?? 0) + 1);
  }
  let twice = 0;
  for (const [subject, { id, sender }] of book.submitted) {
    const email = `${subject}@outside.test`;
    expect([email, copies.has(email)]).toEqual([email, true]);
    if ((copies.get(email) ?? 0) < 2) continue;
    twice += 1;
    const { body } = await server.call('GET', `/v1/messages/${id}`, undefined, sender.token);
    expect([email, body.delivery[0].uncertain]).toEqual([email, true]);
  }
  return { delivered, sent: book.submitted.size, twice };
}
