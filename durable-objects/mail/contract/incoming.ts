/** Accepted mail until it is a message. */

export interface IncomingMessage {
  readonly incomingId: string;
  /** Hash that identifies content and envelope. A sender's retry has the same hash. */
  readonly contentKey: string;
  readonly rawKey: string;
  readonly rawSha256: string;
  readonly sizeBytes: number;
  readonly envelopeFrom: string;
  readonly envelopeTo: string;
  readonly deliveredTo: string;
  readonly clientIp: string | null;
  readonly helo: string | null;
  readonly origin: 'smtp' | 'local';
  /** JSON of earlier verdicts: authentication at acceptance, or all verdicts for local mail. */
  readonly verdicts: string | null;
}

export interface ClaimedIncoming extends Omit<IncomingMessage, 'rawSha256'> {
  readonly userId: string;
  readonly acceptedAt: number;
  readonly attempts: number;
}

/** Outcomes of accepted mail. `refused`: it could not be stored because the mailbox was erased, or an operator destroyed it. */
export const INCOMING_OUTCOMES = ['inbox', 'junk', 'folder', 'quarantine', 'refused'] as const;

export type IncomingOutcome = (typeof INCOMING_OUTCOMES)[number];

/** Outcome of an accepted message that was not stored in a folder. */
export interface IncomingEnd {
  readonly outcome: 'quarantine' | 'refused';
  readonly detail: string | null;
}

export interface IncomingLedger {
  readonly accepted: number;
  readonly pending: number;
  readonly oldestPendingAt: number | null;
  /** Number of pending messages whose last attempt failed because a scanner or store did not answer. */
  readonly deferred: number;
  readonly outcomes: Readonly<Record<IncomingOutcome, number>>;
}
