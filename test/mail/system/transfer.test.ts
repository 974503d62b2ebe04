import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatMbox } from '../../../workers/mail/domain/mbox.ts';
import { readCorpus } from '../../support/mail/corpus.ts';
import { confirmSession, importWhole } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function register(name: string): Promise<string> {
  const { body } = await server.call(
    'POST',
    '/v1/auth/register',
    { email: `${name}@example.test`, password: 'long enough', name },
    null,
  );
  return body.token;
}
const send = (token: string, type: string, body: Uint8Array<ArrayBuffer>) => importWhole(server, token, body, type);
const get = async (token: string, path: string) =>
  Buffer.from(await (await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })).arrayBuffer());
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Messages to import if the corpus is missing, for example in a fresh clone. */
const sample = Array.from({ length: 12 }, (_, n) => ({
  name: `sample ${n}`,
  raw: Buffer.from(
    `From: Sample <s${n}@elsewhere.test>\r\nSubject: Sample ${n % 3 ? 're: ' : ''}${n >> 2}\r\nMessage-ID: <${n}@elsewhere.test>\r\n${n % 4 ? `In-Reply-To: <${n - 1}@elsewhere.test>\r\n` : ''}Date: Tue, 03 Feb 2026 04:05:${10 + n} +0000\r\n\r\nFrom the sample: body ${n}\r\n`,
  ),
}));
const corpus = join(import.meta.dirname, '../../../../shared/data/spam-training.tar.gz');

describe.each([
  ['the sample in the repository', () => sample, true],
  [
    'every 20th message of the public corpus',
    () => [...readCorpus(corpus)].filter((_, n) => n % 20 === 0),
    existsSync(corpus),
  ],
])('import and export of %s', (_, read, isAvailable) => {
  it.skipIf(!isAvailable)('keep every byte, date and flag, and add nothing twice', async () => {
    const messages = read();
    const token = await register(`user${messages.length}`);
    const distinct = new Map(messages.map(({ raw }) => [sha(raw), raw]));
    const file = Buffer.concat(
      messages.map(({ raw }, n) =>
        formatMbox(
          raw,
          { isRead: n % 2 === 0, isFlagged: n % 3 === 0, labels: [], folder: 'Old/Mail' },
          { messageId: `m${n}`, sender: 'x@y.test', receivedAt: Date.UTC(2002, 0, 1) + n * 60_000 },
        ),
      ),
    );
    expect(await send(token, 'application/mbox', file)).toMatchObject({
      messages: messages.length,
      imported: distinct.size,
      failed: 0,
    });
    expect(await send(token, 'application/mbox', file)).toMatchObject({ imported: 0, duplicates: messages.length });
    const folders = (await server.call('GET', '/v1/folders', undefined, token)).body as {
      id: string;
      name: string;
      total: number;
      unread: number;
    }[];
    const folder = folders.find(({ name }) => name === 'Old/Mail');
    expect(folder?.total).toBe(distinct.size);
    const used = (await server.call('GET', '/v1/me', undefined, token)).body.quota.used_bytes;
    expect(used).toBe([...distinct.values()].reduce((sum, raw) => sum + raw.length, 0));
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await server.call(
        'GET',
        `/v1/folders/${folder?.id}/messages?limit=200${cursor ? `&cursor=${cursor}` : ''}`,
        undefined,
        token,
      );
      ids.push(...page.body.data.map((message: { id: string }) => message.id));
      cursor = page.body.next_cursor;
    }
    const hashes = await Promise.all(ids.map(async (id) => sha(await get(token, `/v1/messages/${id}/raw`))));
    expect(new Set(hashes)).toEqual(new Set(distinct.keys()));
    await confirmSession(server, token, 'long enough');
    const exported = await get(token, '/v1/export');
    const other = await register(`copy${messages.length}`);
    expect(await send(other, 'application/mbox', exported as Buffer<ArrayBuffer>)).toMatchObject({
      imported: distinct.size,
      failed: 0,
    });
    await confirmSession(server, other, 'long enough');
    const withoutIds = (file: Buffer) => file.toString('latin1').replace(/^X-Tessera-Id: .*$/gm, '');
    expect(withoutIds(await get(other, '/v1/export')) === withoutIds(exported)).toBe(true);
  });
});

describe('import', () => {
  it('accepts a single message, and rejects other media types', async () => {
    const token = await register('single');
    expect(await send(token, 'message/rfc822', Buffer.from('Subject: one\r\n\r\nbody\r\n'))).toMatchObject({
      imported: 1,
    });
    const refused = await fetch(`${server.url}/v1/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
      body: 'x',
    });
    expect(refused.status).toBe(415);
  });
});
