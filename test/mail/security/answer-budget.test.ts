/**
 * Messages that a stranger sends must not make answers that use up the memory of an isolate: long texts in one thread, and long
 * subjects and lists of recipients in one folder. Each answer stays within the budget of docs/api-stability.md, and each message can
 * still be read.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importWhole, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const ANSWER_BYTES_MAX = 10_000_000;
const LONG_TEXT_BYTES = 1_200_000;
const REPLIES = 14;
const WIDE_MAILS = 24;
// biome-ignore lint/suspicious/noExplicitAny: answers of several routes; each test asserts the members it needs
type Json = any;
let server: TestServer;
let user: MailUser;

const toMbox = (raws: readonly string[]): string =>
  raws.map((raw) => `From x@y.test Sat Jan 10 10:00:00 2026\n${raw}\n\n`).join('');

async function importAll(raws: readonly string[]): Promise<void> {
  expect(await importWhole(server, user.token, toMbox(raws))).toMatchObject({ imported: raws.length });
}

/** Reads JSON and measures it. */
async function read(path: string): Promise<{ status: number; bytes: number; body: Json }> {
  const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${user.token}` } });
  const text = await response.text();
  return { status: response.status, bytes: Buffer.byteLength(text), body: JSON.parse(text) };
}

const head = (at: number, more: readonly string[] = []): string =>
  ['From: a@far.test', `Message-ID: <m${at}@far.test>`, ...more].join('\n');

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
  user = await registerUser(server, 'reader');
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a thread of long messages', () => {
  it('is read in pages within the budget, and no message is left out', async () => {
    const line = `${'a long text '.repeat(6)}\n`;
    const text = line.repeat(Math.ceil(LONG_TEXT_BYTES / line.length));
    await importAll(
      Array.from(
        { length: REPLIES },
        (_, at) =>
          `${head(at, [`Subject: one thread`, ...(at > 0 ? ['References: <m0@far.test>'] : [])])}\n\nNumber ${at}\n${text}`,
      ),
    );
    const list = await read('/v1/folders/inbox/messages?limit=1');
    const thread = `/v1/threads/${list.body.data[0].thread_id}`;
    const starts: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await read(`${thread}?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(page.status).toBe(200);
      expect(page.bytes).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
      starts.push(...page.body.data.map(({ body }: { body: string }) => body.slice(0, body.indexOf('\n'))));
      cursor = page.body.next_cursor;
    }
    expect(starts.map((start) => start.trim())).toEqual(Array.from({ length: REPLIES }, (_, at) => `Number ${at}`));
  });
});

describe('a list of messages with long fields', () => {
  it('stays within the budget', async () => {
    const name = 'n'.repeat(900);
    const to = Array.from({ length: 950 }, (_, n) => `"${name}" <r${n}@far.test>`).join(',\n ');
    await importAll(
      Array.from(
        { length: WIDE_MAILS },
        (_, at) => `${head(1_000 + at, [`To: ${to}`, `Subject: wide ${at}`])}\n\nhello\n`,
      ),
    );
    const list = await read('/v1/folders/inbox/messages?limit=200');
    expect(list.status).toBe(200);
    expect(list.bytes).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
    expect(list.body.data).toHaveLength(WIDE_MAILS + REPLIES);
  });

  it('stays within the budget if the fields are subjects', async () => {
    const subject = Array.from({ length: 900 }, () => 's'.repeat(900)).join('\n ');
    await importAll(
      Array.from({ length: WIDE_MAILS }, (_, at) => `${head(2_000 + at, [`Subject: ${subject}`])}\n\nlong subject\n`),
    );
    for (const path of ['/v1/folders/inbox/messages?limit=200', '/v1/messages?q=long&limit=200']) {
      const list = await read(path);
      expect([path, list.status]).toEqual([path, 200]);
      expect(list.bytes).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
    }
  });
});

describe('one message that is longer than the budget', () => {
  it.each([
    ['plain', 'text/plain', `${'0123456789abcde "'.repeat(5)}\n`],
    ['html', 'text/html', `<p>${'0123456789abcde &amp; '.repeat(5)}</p>\n`],
  ])('is shown in part: %s', async (name, type, line) => {
    const raw = `${head(3_000, [`Subject: huge${name}`, `Content-Type: ${type}`])}\n\n${line.repeat(Math.ceil(14_000_000 / line.length))}`;
    await importAll([raw]);
    const list = await read(`/v1/messages?q=subject:huge${name}&sort=newest&limit=1`);
    const message = await read(`/v1/messages/${list.body.data[0].id}`);
    expect(message.status).toBe(200);
    expect(message.bytes).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
    expect(message.body.is_truncated).toBe(true);
    expect(message.body.body).toContain('0123456789abcde');
  });
});
