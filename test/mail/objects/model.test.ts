/**
 * Compares the mailbox with a model after random operations: counts, threads, change log, search, quota, rows and bytes.
 */
import { it } from 'vitest';
import { checkMailbox } from '../../support/mail/mailbox-verify.ts';

it('keeps a mailbox, and a client that only reads changes, equal to the model under random operations', async () => {
  await checkMailbox(6, 40);
});
