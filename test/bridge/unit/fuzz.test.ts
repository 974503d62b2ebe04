/** Line reader and parser together: whatever comes, a session answers or ends, and never runs a command that was not there. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openConversation, startConversation } from '../../support/bridge/conversation.ts';
import { MemoryAccount } from '../../support/bridge/memory-account.ts';

const WORDS = [
  'a',
  'FETCH',
  'UID',
  'SEARCH',
  'LIST',
  'STORE',
  'APPEND',
  'INBOX',
  '1:*',
  '(',
  ')',
  '"',
  '\\',
  '{3}',
  '{3+}',
  '~{2}',
  '{99999}',
  '[',
  ']',
  '<0.1>',
  'BODY[',
  'NIL',
  '*',
  '%',
  '\r\n',
  ' ',
  '\0',
  '\xff',
  'OR',
  'NOT',
  'FLAGS',
  '\\Seen',
  '+FLAGS',
  '&',
  '-',
  'IDLE',
  'DONE',
  'LOGIN',
  'SELECT',
  'RETURN',
  'CHARSET',
];
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 8 }) },
);
const garbage = fc.array(word, { maxLength: 30 }).map((words) => words.join(words.length % 2 ? ' ' : ''));
/** The same bytes may arrive in any pieces. */
const pieces = fc.tuple(garbage, fc.array(fc.nat(40), { maxLength: 5 }));

function split(text: string, cuts: readonly number[]): string[] {
  const parts: string[] = [];
  let rest = text;
  for (const cut of cuts) {
    parts.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
  return [...parts, rest];
}

it('survives any bytes in any pieces, before and after the log-in', async () => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.boolean(), async ([text, cuts], isLoggedIn) => {
      const memory = new MemoryAccount();
      memory.add('Subject: x\r\n\r\ny');
      const session = isLoggedIn ? await openConversation(memory) : startConversation(memory);
      for (const part of split(text, cuts)) if (part !== '') session.pipe.send(part);
      session.pipe.end();
      await session.ended;
      const received = await session.pipe.receive(/$^/);
      // Each line of an answer is an untagged one, a continuation, or has a tag; nothing is an internal error.
      expect(received).not.toContain('Internal error');
      if (!isLoggedIn) expect(memory.requests.filter((request) => request !== 'GET /v1/imap')).toEqual([]);
    }),
    { numRuns: 400 },
  );
});
