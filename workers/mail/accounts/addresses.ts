/** Takes addresses from accounts. */

import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { createAccountStore } from '../store/account-store.ts';
import { removeAddress } from '../store/address-store.ts';
import { reachMailbox } from './credentials.ts';

/**
 * Takes an address from its account, for ever. The mailbox learns it first: it refuses mail to the address, and mail from it, that
 * a replica of DIRECTORY still allows. If the mailbox cannot be reached, nothing changes.
 * @returns false if the account has no such address. @throws ProblemError (503) if the mailbox cannot be reached.
 */
export async function retireAddress(env: Env, email: string, userId: string): Promise<boolean> {
  const store = createAccountStore(userDatabaseOf(env, userId));
  if (!(await store.listAddresses(userId)).includes(email)) return false;
  await reachMailbox(env, userId, (mailbox) => mailbox.retireAddress(email));
  return removeAddress(env, email, userId);
}
