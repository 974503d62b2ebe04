/** Requests that an action costs: the table of docs/bridge.md. */
import { beforeEach, expect, it } from 'vitest';
import { type Conversation, openConversation, startConversation } from '../../support/bridge/conversation.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { ADDRESS, MemoryAccount, TOKEN } from '../../support/bridge/memory-account.ts';

let memory: MemoryAccount;
let ann: Conversation;
beforeEach(async () => {
  memory = new MemoryAccount();
  for (let count = 0; count < 500; count++) memory.add(toMail(`mail-${count}`));
  ann = await openConversation(memory);
});

/** Requests but those that follow a push, which come after a change of anybody. */
const requests = (): number => memory.requests.filter((request) => !request.endsWith('/changes')).length;

async function count(...commands: string[]): Promise<number> {
  const before = requests();
  for (const command of commands) expect(await ann.run(command)).toMatch(/^T OK/m);
  return requests() - before;
}

it('logs in, selects and lists with one request each', async () => {
  memory.requests.length = 0;
  await startConversation(memory).run(`LOGIN ${ADDRESS} ${TOKEN}`);
  expect(memory.requests).toEqual(['GET /v1/imap']);
  expect(await count('EXAMINE Sent')).toBe(1);
  memory.add('Subject: x\r\n\r\n');
  expect(await count('LIST "" "*" RETURN (STATUS (MESSAGES UNSEEN UIDNEXT))', 'STATUS Sent (MESSAGES)')).toBe(1);
});
it('reads flags of all messages without a request, and 500 envelopes with three', async () => {
  expect(await count('UID FETCH 1:* (FLAGS)', 'UID SEARCH UNSEEN')).toBe(0);
  expect(await count('FETCH 1:500 (UID ENVELOPE BODYSTRUCTURE FLAGS BODY.PEEK[HEADER.FIELDS (REFERENCES)])')).toBe(3);
});
it('opens a message with its structure and its bytes, and changes many with one request', async () => {
  expect(await count('UID FETCH 7 (BODYSTRUCTURE)', 'UID FETCH 7 (BODY.PEEK[1])')).toBe(3);
  expect(await count('UID FETCH 8 (BODY.PEEK[])')).toBe(1);
  expect(await count('UID FETCH 9 (BODY[])')).toBe(2);
  expect(await count('UID STORE 1:400 +FLAGS.SILENT (\\Flagged)')).toBe(1);
  expect(await count('COPY 1:400 Sent')).toBe(1);
  expect(await count('MOVE 1:400 Trash')).toBe(1);
});
