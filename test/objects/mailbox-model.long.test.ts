/** The same as `mailbox-model.test.ts`, many times and longer. */
import { it } from 'vitest';
import { checkMailbox } from '../support/mail/mailbox-verify.ts';

it('a mailbox is what its model says after thousands of random operations', async () => {
  await checkMailbox(200, 60);
  await checkMailbox(30, 500);
});
