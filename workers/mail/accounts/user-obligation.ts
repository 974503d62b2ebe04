/** Erases what mail stores for an identity user: addresses, the mailbox object, all bytes in R2. */
import type { UserObligation } from '../../identity/index.ts';
import { createClock } from '../../shared/clock.ts';
import { deleteBlobsUnder, userPrefix } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { createAccountStore } from '../store/account-store.ts';

export const mailboxObligation: UserObligation = {
  findObstacle: async () => null,

  /** Retires the addresses first and writes a tombstone, so no new mail arrives. Each step is idempotent. */
  async erase(userId, env) {
    await createAccountStore(env.DIRECTORY).deleteAccount(userId, createClock(env)());
    await openMailbox(env, userId).erase();
    await deleteBlobsUnder(env, userPrefix(userId));
  },

  async endCredential(userId, credentialId, env) {
    await openMailbox(env, userId).closeSockets(credentialId === null ? {} : { only: credentialId });
  },
};
