/** Reads what became of mail, from the rows that there are anyway. A trace costs reads, and no message a row more. */
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { Trace, TracedIncoming, TracedMessage, TracedOutgoing, TraceFilter } from '../contract/trace.ts';

/** Messages are read from the newest on. A position is microseconds, so the condition on it bounds the read. */
const listMessages = statement<
  { since: number; id: string; peer: string; limit: number },
  Omit<TracedMessage, 'isSent'> & { origin: string }
>(
  `SELECT m.received_at AS at, m.header_message_id AS headerMessageId, m.origin, m.sender, f.role AS folderRole,
     m.authentication, m.spam, m.delivery
   FROM message AS m JOIN folder AS f ON f.folder = m.folder
   WHERE m.position >= :since * 1000 AND m.origin IN ('received', 'sent')
     AND (:id = '' OR m.header_message_id = :id)
     AND (:peer = '' OR instr(lower(m.sender || coalesce(m.delivery, m.to_list || m.cc_list || m.bcc_list)), :peer) > 0)
   ORDER BY m.position DESC LIMIT :limit`,
);
const listIncoming = statement<
  { since: number; peer: string; limit: number },
  Pick<TracedIncoming, keyof TracedIncoming>
>(
  `SELECT accepted_at AS at, envelope_from AS sender, attempts, next_attempt_at AS nextAttemptAt, detail FROM incoming
   WHERE accepted_at >= :since AND (:peer = '' OR lower(envelope_from) = :peer) ORDER BY accepted_at DESC LIMIT :limit`,
);
const listOutgoing = statement<
  { since: number; id: string; peer: string; limit: number },
  Pick<TracedOutgoing, keyof TracedOutgoing>
>(
  `SELECT queued_at AS at, kind, header_message_id AS headerMessageId, recipients FROM outbox
   WHERE queued_at >= :since AND (:id = '' OR header_message_id = :id)
     AND (:peer = '' OR instr(lower(recipients), :peer) > 0) ORDER BY queued_at DESC LIMIT :limit`,
);

/** @returns the newest rows of each kind. Accepted mail has no known Message-ID yet, so it is listed for each. */
export function readTrace(sql: SqlStorage, { since, headerMessageId, peer, limit }: TraceFilter): Trace {
  const filter = { since, id: headerMessageId ?? '', peer: peer ?? '', limit };
  return {
    messages: [...execute(sql, listMessages, filter)].map(({ origin, ...row }) => ({
      ...row,
      isSent: origin === 'sent',
    })),
    incoming: [...execute(sql, listIncoming, { since, peer: filter.peer, limit })],
    outgoing: [...execute(sql, listOutgoing, filter)],
  };
}
