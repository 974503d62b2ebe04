/** The operator's actions on a message in quarantine. Its bytes are stored with the recipient's mailbox. */
import type { ClaimedIncoming } from '../../../../durable-objects/mail/contract/incoming.ts';

import { findInAny, userDatabaseOf } from '../../../shared/stores/directories.ts';
import { getBlob } from '../../bindings/blobs.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { noChain } from '../../checks/authentication/arc.ts';
import type { Verdicts } from '../../checks/index.ts';
import { openStored } from '../../checks/opened-message.ts';
import { deleteQuarantined, findQuarantined } from '../../store/quarantine-store.ts';
import { OPERATOR_MAILBOX } from '../accept/resolve-recipient.ts';
import { putIntoMailbox } from './process-incoming.ts';

async function findMessage(env: Env, id: string): Promise<ClaimedIncoming | null> {
  const row = await findInAny(env, (database) => findQuarantined(database, id));
  if (!row) return null;
  const found = await openMailbox(env, row.userId).readQuarantined(id);
  return found.ok ? found.value : null;
}

export async function openQuarantined(env: Env, id: string): Promise<R2ObjectBody | null> {
  const message = await findMessage(env, id);
  return message && getBlob(env, message.rawKey);
}

/** Releases a message from quarantine: delivers it to the Inbox, whatever its verdicts are. Idempotent. */
export async function releaseQuarantined(env: Env, id: string): Promise<{ messageId: string | null } | null> {
  const [message, row] = [
    await findMessage(env, id),
    await findInAny(env, (database) => findQuarantined(database, id)),
  ];
  const stored = message && (await openStored(env, message.rawKey));
  // Mail to the operator is read in place and cannot be released.
  if (!message || !row || !stored || row.userId === OPERATOR_MAILBOX) return null;
  const verdicts: Pick<Verdicts, 'spam' | 'virus' | 'authentication'> = {
    spam: { score: 0, verdict: 'ham', reasons: [], engine: 'built-in' },
    virus: JSON.parse(row.reasons) as Verdicts['virus'],
    authentication: {
      spf: { result: 'none', domain: '', identity: 'mailfrom', reason: 'released from quarantine' },
      dkim: [],
      dmarc: { result: 'none', domain: '', policy: null, disposition: 'none', reason: 'released from quarantine' },
      arc: noChain('none', 'released from quarantine'),
    },
  };
  const delivered = await putIntoMailbox(env, message, stored, verdicts, { labels: [], isReleased: true });
  if (!delivered.ok) throw new Error(`not released: ${delivered.error}`);
  await deleteQuarantined(userDatabaseOf(env, row.userId), id);
  return { messageId: delivered.value.messageId };
}

export async function discardQuarantined(env: Env, id: string): Promise<boolean> {
  const message = await findMessage(env, id);
  if (!message) return false;
  const end = { outcome: 'refused', detail: 'destroyed by an operator' } as const;
  await openMailbox(env, message.userId).finishIncoming(id, end);
  await deleteQuarantined(userDatabaseOf(env, message.userId), id);
  return true;
}
