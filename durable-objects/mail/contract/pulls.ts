/**
 * Pulls: jobs that fetch the mail of another mailbox by IMAP, again and again until the user has moved. A pull is one value in the
 * mailbox's storage. Times are milliseconds since 1970 UTC.
 */

/** Why the last connection of a pull failed. After some faults the pull ends, because a repetition would fail too. */
export type PullFault =
  | 'login_refused'
  | 'host_not_allowed'
  | 'secret_lost'
  | 'tls_failed'
  | 'unreachable'
  | 'interrupted'
  | 'over_quota';

/** Progress of the pull in a folder of the other mailbox. */
export interface PulledFolder {
  /** UIDVALIDITY (RFC 3501 §2.3.1.1). If it changes, the folder is read from its beginning again. */
  readonly uidValidity: string;
  /** All messages up to this UID were handled. */
  readonly lastUid: number;
  /** Messages after `lastUid` when the folder was last looked at. */
  readonly remaining: number;
}

/** What changes while a pull works. It is saved as a whole. */
export interface PullProgress {
  /** By the name of the folder on the other server. */
  readonly folders: Readonly<Record<string, PulledFolder>>;
  readonly imported: number;
  readonly duplicates: number;
  readonly failed: number;
  /** How often all folders were read to their ends. */
  readonly passes: number;
}

export interface PullServer {
  readonly host: string;
  readonly port: 993 | 143;
  readonly userName: string;
}

export interface Pull extends PullServer, PullProgress {
  readonly pullId: string;
  readonly secretKind: 'password' | 'oauth_token';
  /** The secret, sealed under MASTER_KEY; null once the pull ended. */
  readonly secretSealed: string | null;
  readonly startedAt: number;
  /** The pull ends then at the latest. */
  readonly endsAt: number;
  /** When the next connection may begin; while one is open, when it counts as lost. */
  readonly nextAt: number;
  /** When the open connection began; null if there is none. It names the connection: a lost one cannot save progress any more. */
  readonly connectedAt: number | null;
  readonly fault: PullFault | null;
  /** Connections in a row that failed. */
  readonly failures: number;
}

export interface NewPull extends PullServer {
  readonly pullId: string;
  readonly secretKind: Pull['secretKind'];
  readonly secretSealed: string;
}

/** How a connection ended. `isDone` says that all folders were read to their ends. */
export interface PullEnd {
  readonly progress: PullProgress;
  readonly isDone: boolean;
  readonly fault: PullFault | null;
}

export type PullConnection = Pick<Pull, 'pullId' | 'connectedAt'>;
