/**
 * What mail does when an identity user is deleted: it deletes the addresses, the mailbox object with sessions and app tokens, and
 * all bytes in R2.
 */
import type { UserObligation } from '../../identity/index.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { deleteBlobsUnder, userPrefix } from '../bindings/blobs.ts';
import { deleteAccount } from '../store/address-store.ts';
import { reachMailbox } from './credentials.ts';

export const mailboxObligation: UserObligation = {
  findObstacle: async () => null,

  /**
   * Deletes the mail of a user. Retires the addresses first and writes a tombstone, so that no new mail arrives. Each step is
   * idempotent.
   */
  async erase(userId, env) {
    await deleteAccount(env, userId, createClock(env)());
    await reachMailbox(env, userId, (mailbox) => mailbox.erase());
    await deleteBlobsUnder(env, userPrefix(userId));
  },

  async endCredentials(userId, which, env) {
    await reachMailbox(env, userId, (mailbox) => mailbox.endCredentials(which));
  },

  setSuspended: (userId, at, env) => reachMailbox(env, userId, (mailbox) => mailbox.setSuspended(at)),

  findCredential: (userId, secretSha256, env) => reachMailbox(env, userId, (mailbox) => mailbox.identify(secretSha256)),
};
