/** Tests that queue messages are only hints: all mail arrives exactly once, even if hints are lost, repeated or late. */
import { expect, it } from 'vitest';
import { balance, keepSending, openBook } from '../../support/mail/load.ts';
import { registerUser } from '../../support/mail/mail.ts';
import { startServer } from '../../support/server.ts';

for (const fault of ['lost', 'repeated', 'late']) {
  it(`all mail is delivered in both directions if every hint is ${fault}`, async () => {
    const vars = { MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1', SEND_LIMIT_PER_HOUR: '1000000', MAIL_HINTS: fault };
    await using server = await startServer({ vars });
    const users = await Promise.all(['ann', 'bob', 'cat'].map((name) => registerUser(server, name)));
    const book = openBook(users);
    const endsAt = Date.now() + 8_000;
    await Promise.all([0, 1, 2].map((n) => keepSending(server, users, book, `c${n}`, () => Date.now() > endsAt)));
    const counts = await balance(server, users, book);
    console.log(JSON.stringify({ hints: fault, ...counts }));
    expect(counts.twice).toBe(0);
    expect(counts.sent).toBeGreaterThan(5);
  });
}
