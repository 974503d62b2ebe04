/**
 * Imports and exports every message of a corpus. `MAIL_CORPUS` is the path of a gzipped tar of `.eml` files, like `SPAM_CORPUS`.
 * It is not in the repository. `npm test` uses a sample of it in `test/mail/system/transfer.test.ts`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCorpus } from '../../support/mail/corpus.ts';
import { listFolder, type MailUser, postInbound, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const path = process.env.MAIL_CORPUS ?? join(import.meta.dirname, '../../../../shared/data/spam-training.tar.gz');
const CLIENTS = 8;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const isFault = (line: string) => /"level":"error"|uncaught|"status":500/i.test(line);
const faults = () => readFileSync(join(server.directory, 'server.log'), 'utf8').split('\n').filter(isFault);

/** Processes the items with a few parallel workers. */
async function eachOf<T>(items: readonly T[], work: (item: T, at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T, at);
  };
  await Promise.all(Array.from({ length: CLIENTS }, worker));
}

interface Shown {
  readonly id: string;
  readonly thread_id: string;
  readonly subject: string;
  readonly headers: { message_id: string | null; in_reply_to: string | null; references: string[] };
  readonly body: string;
}

async function readAll(user: MailUser, roles: readonly string[]): Promise<{ shown: Shown; raw: Buffer }[]> {
  const summaries = (await Promise.all(roles.map((role) => listFolder(server, user, role)))).flat();
  const read: { shown: Shown; raw: Buffer }[] = [];
  await eachOf(summaries, async ({ id }) => {
    const shown = await server.call('GET', `/v1/messages/${id}`, undefined, user.token);
    expect([id, shown.status, typeof shown.body.body]).toEqual([id, 200, 'string']);
    const raw = await fetch(`${server.url}/v1/messages/${id}/raw`, {
      headers: { authorization: `Bearer ${user.token}` },
    });
    read.push({ shown: shown.body, raw: Buffer.from(await raw.arrayBuffer()) });
  });
  return read;
}

describe.skipIf(!existsSync(path))('every message of the corpus', () => {
  const messages = existsSync(path) ? [...readCorpus(path)].map(({ raw }) => raw) : [];
  const distinct = new Map(messages.map((raw) => [sha(raw), raw]));

  it('is imported and exported unchanged, in one thread with the messages that it references', async () => {
    const user = await registerUser(server, 'corpus');
    await eachOf([...distinct.values()], async (raw) => {
      const answer = await fetch(`${server.url}/v1/import`, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.token}`, 'content-type': 'message/rfc822' },
        body: new Uint8Array(raw),
      });
      expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ imported: 1, failed: 0 })]);
    });
    const read = await readAll(user, ['inbox']);
    expect(new Set(read.map(({ raw }) => sha(raw)))).toEqual(new Set(distinct.keys()));
    expect(read).toHaveLength(distinct.size);
    const { body: me } = await server.call('GET', '/v1/me', undefined, user.token);
    expect(me.quota.used_bytes).toBe([...distinct.values()].reduce((sum, raw) => sum + raw.length, 0));

    const threadOf = new Map<string, string>();
    const torn: string[] = [];
    for (const { shown } of read) {
      const { message_id, in_reply_to, references } = shown.headers;
      for (const id of [message_id, in_reply_to, ...references]) {
        if (id === null) continue;
        if ((threadOf.get(id) ?? shown.thread_id) !== shown.thread_id) torn.push(id);
        threadOf.set(id, shown.thread_id);
      }
    }
    expect(torn).toEqual([]);
    const sizes = new Map<string, number>();
    for (const { shown } of read) sizes.set(shown.thread_id, (sizes.get(shown.thread_id) ?? 0) + 1);
    const largest = Math.max(...sizes.values());
    console.log(`${read.length} messages in ${sizes.size} threads, the largest of ${largest}`);
    // Expect plausible threads: some with several messages, but not all messages in one.
    expect(sizes.size).toBeLessThan(read.length);
    expect(largest).toBeLessThan(read.length / 10);
    expect(faults()).toEqual([]);
  });

  it('is accepted as inbound mail, and none is lost', async () => {
    const user = await registerUser(server, 'door');
    const some = [...distinct.values()];
    await eachOf(some, async (raw, n) => {
      const { status } = await postInbound(server, Buffer.from(raw), { from: `sender${n}@far.test`, to: user.email });
      expect([n, status]).toEqual([n, 202]);
    });
    const ledger = await until(
      'nothing is pending',
      async () => {
        const { body } = await server.call('GET', '/v1/inbound');
        return body.accepted >= some.length && body.pending === 0 ? body : undefined;
      },
      1_800_000,
    );
    console.log(JSON.stringify(ledger.outcomes));
    expect(ledger.balanced).toBe(true);
    const read = await readAll(user, ['inbox', 'junk']);
    expect(read.length + ledger.outcomes.quarantine).toBe(some.length);
    for (const { raw } of read) expect(distinct.has(sha(raw))).toBe(true);
    expect(faults()).toEqual([]);
  });
});
