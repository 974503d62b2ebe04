/** Mailboxes that were put back to an earlier state and have not been replayed: docs/design/restores.md. */
import { unguardedEnv } from '../../shared/stores/guarded-database.ts';
import { findOutsideNumber } from '../../shared/stores/object-ages.ts';
import { openObject } from '../../shared/stores/object-namespace.ts';
import { OlderStoreError } from '../../shared/stores/store-age.ts';

/** @throws OlderStoreError if the mailbox has a lower number than the locations. Its own number is read only if they have one. */
export async function refuseOlderMailbox(env: Env, userId: string): Promise<void> {
  const real = unguardedEnv(env);
  const outside = await findOutsideNumber(real, 'mailboxes', userId);
  if (outside === 0) return;
  const { number } = await openObject(real, real.MAILBOX, userId).readAge();
  if (number < outside) throw new OlderStoreError(`MAILBOX ${userId}`);
}
