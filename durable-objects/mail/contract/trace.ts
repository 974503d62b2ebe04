/** What a mailbox knows of the mail of the last 30 days: where each message came to, and why. Times are milliseconds since 1970 UTC. */
export interface TraceFilter {
  readonly since: number;
  /** Message-ID with its angle brackets; null for any. */
  readonly headerMessageId: string | null;
  /** An address outside, in lower case: the sender of received or a recipient of sent mail. Null for any. */
  readonly peer: string | null;
  readonly limit: number;
}

/** A message that was received or sent and is still in the mailbox. */
export interface TracedMessage {
  readonly at: number;
  readonly headerMessageId: string | null;
  readonly isSent: boolean;
  readonly sender: string;
  /** Role of its folder; null for a folder that the user made. */
  readonly folderRole: string | null;
  /** JSON of the verdicts. */
  readonly authentication: string | null;
  readonly spam: string | null;
  /** JSON list of `DeliveryState` of a sent message. */
  readonly delivery: string | null;
}

/** A message that was accepted and has no place yet. */
export interface TracedIncoming {
  readonly at: number;
  readonly sender: string;
  readonly attempts: number;
  /** Time of the next attempt to process it; null in quarantine. */
  readonly nextAttemptAt: number | null;
  readonly detail: string | null;
}

/** A message on its way out, or one with failures. Forwards and automatic mail are in it too. */
export interface TracedOutgoing {
  readonly at: number;
  readonly kind: string;
  readonly headerMessageId: string | null;
  /** JSON list of recipients with their states. */
  readonly recipients: string;
}

export interface Trace {
  readonly messages: readonly TracedMessage[];
  readonly incoming: readonly TracedIncoming[];
  readonly outgoing: readonly TracedOutgoing[];
}
