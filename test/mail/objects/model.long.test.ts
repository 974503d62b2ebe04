/** Runs `test/mail/objects/model.test.ts` with more and longer runs. */
import { it } from 'vitest';
import { checkMailbox } from '../../support/mail/mailbox-verify.ts';

it('keeps a mailbox equal to its model through thousands of random operations', async () => {
  await checkMailbox(200, 60);
  await checkMailbox(30, 500);
});
