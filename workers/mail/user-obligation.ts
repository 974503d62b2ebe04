/** What mail holds for a user of identity, and how it is let go of: addresses, the mailbox object, every byte in R2. */
import type { UserObligation } from '../identity/index.ts';
import { createClock } from '../shared/clock.ts';
import { createAccountStore } from './account-store.ts';
import { deleteBlobsUnder, userPrefix } from './blobs.ts';
import { openMailbox } from './mailbox.ts';

export const mailboxObligation: UserObligation = {
  findObstacle: async () => null,

  /** Addresses first, with a tombstone, so that nothing new comes in. Each step may be repeated. */
  async erase(userId, env) {
    await createAccountStore(env.DIRECTORY).deleteAccount(userId, createClock(env)());
    await openMailbox(env, userId).erase();
    await deleteBlobsUnder(env, userPrefix(userId));
  },

  async endCredential(userId, credentialId, env) {
    await openMailbox(env, userId).closeSockets({ only: credentialId });
  },
};
