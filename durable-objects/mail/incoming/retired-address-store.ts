/**
 * The addresses that the account lost. Replicas of DIRECTORY may still list them, so the mailbox refuses what only a replica
 * resolved to one of them. No address is issued again, so the list
 * only grows, but for masked addresses that are opened again; it ends with the mailbox.
 */
const keyOf = (email: string): string => `retired:${email}`;

/** @param email in lower case. */
export const retireAddress = (kv: SyncKvStorage, email: string): void => kv.put(keyOf(email), true);

/** @param email in lower case. */
export const openAddressAgain = (kv: SyncKvStorage, email: string): boolean => kv.delete(keyOf(email));

/** @param email in lower case. */
export const isRetired = (kv: SyncKvStorage, email: string): boolean => kv.get(keyOf(email)) === true;
