/** The mailbox against a model of it: counts, threads, change log, search, quota, rows and bytes, after any sequence of operations. */
import { it } from 'vitest';
import { checkMailbox } from '../support/mail/mailbox-verify.ts';

it('a mailbox under random operations is what its model says, and so is a client that only hears changes', async () => {
  await checkMailbox(6, 40);
});
