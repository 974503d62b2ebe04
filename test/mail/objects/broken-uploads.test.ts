/** An upload that the client breaks off is no error of the server: nothing is logged as one, and nothing is stored. */
import { createExecutionContext, env } from 'cloudflare:test';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import worker from '../../../workers/index.ts';

const PASSWORD = 'correct horse battery';
let caller: { token: string; userId: string };

async function send(path: string, type: string, body: BodyInit, more: Record<string, string> = {}): Promise<Response> {
  const headers = { 'content-type': type, ...(caller ? { authorization: `Bearer ${caller.token}` } : {}), ...more };
  const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body });
  return worker.fetch(
    request as Request<unknown, IncomingRequestCfProperties>,
    env as Env,
    createExecutionContext(),
  ) as unknown as Promise<Response>;
}

beforeAll(async () => {
  const person = { email: `b${crypto.randomUUID()}@example.test`, password: PASSWORD, name: 'b' };
  const answer = await send('/v1/auth/register', 'application/json', JSON.stringify(person));
  const { token, user } = await answer.json<{ token: string; user: { user_id: string } }>();
  caller = { token, userId: user.user_id };
});
afterEach(() => vi.restoreAllMocks());

/** A body whose client goes away after the first bytes. The message is workerd's. */
const breakOff = (start: string) => {
  const pieces = [new TextEncoder().encode(start)];
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else controller.error(new Error('Network connection lost.'));
    },
  });
};

const MAIL = 'From: Ann <ann@far.test>\r\nSubject: Half\r\n\r\nThe first ha';
const RAW = 'message/rfc822';

it.each([
  {
    what: 'a file',
    toPath: () => '/v1/attachments?file_name=a.bin',
    type: 'application/octet-stream',
    start: 'abc',
    length: 2_000_000,
  },
  {
    what: 'a JMAP blob',
    toPath: () => `/v1/jmap/upload/${caller.userId}`,
    type: 'application/octet-stream',
    start: 'abc',
    length: 2_000_000,
  },
  {
    what: 'a JMAP blob without a length',
    toPath: () => `/v1/jmap/upload/${caller.userId}`,
    type: 'text/plain',
    start: 'abc',
    length: null,
  },
  {
    what: 'a message for a folder',
    toPath: () => '/v1/imap/append?folder_id=inbox',
    type: RAW,
    start: MAIL,
    length: 5_000,
  },
  {
    what: 'a long message for a folder',
    toPath: () => '/v1/imap/append?folder_id=inbox',
    type: RAW,
    start: MAIL,
    length: 2_000_000,
  },
  {
    what: 'a message to send',
    toPath: () => `/v1/imap/submissions?from=me@example.test&to=a@far.test`,
    type: RAW,
    start: MAIL,
    length: 2_000_000,
  },
  { what: 'an import of a message', toPath: () => '/v1/import', type: RAW, start: MAIL, length: 5_000 },
  {
    what: 'an import of an mbox',
    toPath: () => '/v1/import',
    type: 'application/mbox',
    start: `From ann\r\n${MAIL}`,
    length: 2_000_000,
  },
])('$what that breaks off is refused without an error in the log', async ({ toPath, type, start, length }) => {
  const errors = vi.spyOn(console, 'error');
  const more: Record<string, string> = length === null ? {} : { 'content-length': String(length) };
  const answer = await send(toPath(), type, breakOff(start), more);
  expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ code: 'bad_request' })]);
  expect(errors.mock.calls).toEqual([]);
});
