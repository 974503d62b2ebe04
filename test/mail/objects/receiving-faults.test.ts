/** Incoming mail when a second thing goes wrong: an answer is lost, bytes are away, one of several recipients takes nothing. */
import { runInDurableObject, env as testEnv } from 'cloudflare:test';
import { beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { getBlob } from '../../../workers/mail/bindings/blobs.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { acceptMessage } from '../../../workers/mail/inbound/accept/accept-message.ts';
import { processIncoming } from '../../../workers/mail/inbound/process/process-incoming.ts';

const env = testEnv as unknown as Env & { readonly BLOBS_2: R2Bucket };
const people: { email: string; userId: string }[] = [];

beforeAll(async () => {
  for (const name of ['ann', 'bob', 'cy']) {
    const email = `${name}-faults@example.test`;
    const source = { client: 'unknown', url: 'http://localhost/' };
    const request = { email, password: 'correct horse battery', name };
    const account = await registerAccount(env, request, source, Date.now());
    if (!account.ok) throw new Error(account.error.code);
    people.push({ email, userId: account.value.userId });
  }
});
beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
});

const rawOf = (subject: string, text: string) =>
  `From: a@far.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@far.test>\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\n\r\n${text}\r\n`;

async function accept(bindings: Env, to: readonly string[], subject: string, text = 'The text.'): Promise<number[]> {
  const raw = rawOf(subject, text);
  const envelope = { from: 'a@far.test', to, clientIp: null, helo: null };
  const body = new Blob([raw]).stream();
  const replies = await acceptMessage(bindings, envelope, { body, sizeBytes: raw.length }, { origin: 'local' });
  return replies.map(({ smtp_code: code }) => code);
}

/** Processes what waits. @returns the subjects of readable messages in the Inbox of a person that have this subject. */
async function readInbox({ userId }: { userId: string }, subject: string): Promise<string[]> {
  await processIncoming(env, userId);
  const mailbox = openMailbox(env, userId);
  const listed = await mailbox.listMessages('inbox', { offset: 0 }, 50);
  if (!listed.ok) throw new Error('no mailbox');
  const found = listed.value.filter((message) => message.subject === subject);
  const texts = await Promise.all(found.map(({ messageId }) => mailbox.readMessage(messageId)));
  return texts.map((message) => (message.ok ? String(message.value.text.value).trim() : 'unreadable'));
}

const setLimit = (userId: string, bytes: number) =>
  runInDurableObject(openMailbox(env, userId) as unknown as DurableObjectStub, (_, state) => {
    state.storage.sql.exec('UPDATE mailbox SET limit_bytes = ?', bytes);
  });

/** Bindings whose mailboxes carry out one method and then lose its answer, once. */
function losing(method: string): Env {
  let left = 1;
  const wrapStub = (stub: object) =>
    new Proxy(stub, {
      get: (target, name) => {
        const found = Reflect.get(target, name);
        if (name !== method)
          return typeof found === 'function' ? (...args: unknown[]) => Reflect.get(target, name)(...args) : found;
        return async (...args: unknown[]) => {
          const answer = await Reflect.get(target, name)(...args);
          if (left-- > 0) throw new Error('Network connection lost');
          return answer;
        };
      },
    });
  const MAILBOX = new Proxy(env.MAILBOX, {
    get: (target, name) => {
      const found = Reflect.get(target, name);
      if (name === 'get' || name === 'getByName') return (...args: unknown[]) => wrapStub(found.apply(target, args));
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  return { ...env, MAILBOX };
}

it('keeps the bytes of a message whose acceptance lost its answer, and takes the retry as a repetition', async () => {
  const [ann] = people as [(typeof people)[0]];
  const subject = crypto.randomUUID();
  const [code] = await accept(losing('acceptIncoming'), [ann.email], subject);
  expect(code).toBe(451);
  expect(await readInbox(ann, subject)).toEqual(['The text.']);
  expect(await accept(env, [ann.email], subject)).toEqual([250]);
  expect(await readInbox(ann, subject)).toEqual(['The text.']);
});

it.each([0, 1, 2])('gives a message to all recipients although number %i has it already', async (repeated) => {
  const subject = crypto.randomUUID();
  const to = people.map(({ email }) => email);
  expect(await accept(env, [to[repeated] ?? ''], subject)).toEqual([250]);
  expect(await accept(env, to, subject)).toEqual([250, 250, 250]);
  for (const person of people) expect(await readInbox(person, subject)).toEqual(['The text.']);
});

it.each([0, 1, 2])('gives a message to the others although the mailbox of number %i is full', async (full) => {
  const subject = crypto.randomUUID();
  const { userId } = people[full] as (typeof people)[0];
  await setLimit(userId, 1);
  const codes = await accept(
    env,
    people.map(({ email }) => email),
    subject,
  );
  await setLimit(userId, 1e9);
  expect(codes).toEqual(people.map((_, n) => (n === full ? 452 : 250)));
  for (const [n, person] of people.entries())
    expect(await readInbox(person, subject)).toEqual(n === full ? [] : ['The text.']);
});

it('lets an accepted message wait while its bytes are in no location that answers', async () => {
  const [, bob] = people as [unknown, (typeof people)[0]];
  const subject = crypto.randomUUID();
  const before = new Set((await env.BLOBS.list({ prefix: `mail/${bob.userId}/in/` })).objects.map(({ key }) => key));
  expect(await accept(env, [bob.email], subject)).toEqual([250]);
  const { objects } = await env.BLOBS.list({ prefix: `mail/${bob.userId}/in/` });
  const key = objects.map((object) => object.key).find((each) => !before.has(each)) ?? '';
  const bytes = await (await env.BLOBS.get(key))?.arrayBuffer();
  for (const location of [env.BLOBS, env.BLOBS_2]) await location.delete(key);
  expect(await readInbox(bob, subject)).toEqual([]);
  for (const location of [env.BLOBS, env.BLOBS_2]) await location.put(key, bytes ?? '');
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  try {
    expect(await readInbox(bob, subject)).toEqual(['The text.']);
  } finally {
    vi.useRealTimers();
  }
});

it('does not take the silence of a location for a missing object', async () => {
  await env.BLOBS.put('mail/silent', 'there');
  const silent = new Proxy(env.BLOBS, {
    get: (target, name) =>
      name === 'get' ? () => Promise.reject(new Error('silent')) : Reflect.get(target, name).bind(target),
  });
  await expect(getBlob({ ...env, BLOBS: silent }, 'mail/silent')).rejects.toThrow('silent');
  expect(await getBlob(env, 'mail/nowhere')).toBeNull();
});

it('keeps the text of a message, stored as an object of its own, if its delivery loses the answer', async () => {
  const [ann = { email: '', userId: '' }] = people;
  expect(await accept(env, [ann.email], 'long', 'The text. '.repeat(110_000))).toEqual([250]);
  await processIncoming(losing('deliverIncoming'), ann.userId);
  const mailbox = openMailbox(env, ann.userId);
  const listed = await mailbox.listMessages('inbox', { offset: 0 }, 50);
  const long = listed.ok ? listed.value.find(({ subject }) => subject === 'long') : undefined;
  const message = await mailbox.readMessage(long?.messageId ?? '');
  const key = message.ok ? message.value.text.r2Key : null;
  expect(key).not.toBeNull();
  expect(await getBlob(env, key ?? '')).not.toBeNull();
});
