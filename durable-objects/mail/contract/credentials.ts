/** Credentials that open a mailbox, and reads that check one. */

export interface Holder {
  readonly userName: string;
  readonly name: string;
  readonly email: string | null;
}

export interface NewCredential {
  readonly secretSha256: string;
  readonly credentialId: string;
  readonly kind: 'session' | 'token';
  readonly userAgent: string | null;
  readonly expiresAt: number | null;
}

/** A valid credential with its user. */
export interface KeptCredential extends Holder, Pick<NewCredential, 'credentialId' | 'kind' | 'expiresAt'> {
  /** Time of the last use, precise to an hour; null before the first use. */
  readonly lastUsedAt: number | null;
  readonly confirmedUntil: number | null;
}

export interface SessionRow {
  readonly sessionId: string;
  readonly userAgent: string | null;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly expiresAt: number;
}

/** Selects the credentials to end: one (`only`), all others (`except`), or all if neither is set. */
export interface EndedCredentials {
  readonly only?: string;
  readonly except?: string;
  /** Limits the selection to credentials of this kind. */
  readonly kind?: 'session' | 'token';
}

/**
 * Proof that the caller may read: either the hash of a secret, which this mailbox checks, or the Worker's statement that it has
 * checked the caller.
 */
export type CallerProof = { readonly secretSha256: string } | 'checked_by_worker';

/** The caller and what was read; null if the credential is not valid, in which case nothing was read. */
export type OwnRead<T> = { readonly caller: KeptCredential | null; readonly answer: T } | null;
