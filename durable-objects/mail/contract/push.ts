/** Push subscriptions of JMAP clients. */

export interface PushKeys {
  readonly p256dh: string;
  readonly auth: string;
}

export interface PushSubscription {
  readonly id: string;
  readonly deviceClientId: string;
  readonly url: string;
  readonly keys: PushKeys | null;
  /** JMAP types whose changes are pushed; null for all. */
  readonly types: readonly string[] | null;
  readonly expiresAt: number;
  /** The verification code that the client returned; null before that. */
  readonly verificationCode: string | null;
}

export type NewPushSubscription = Omit<PushSubscription, 'verificationCode'> & {
  readonly code: string;
  /** False if the client must still return a code, to prove that pushes reach its address. */
  readonly isVerified: boolean;
};

export type PushUpdate = Partial<Pick<PushSubscription, 'types' | 'expiresAt' | 'verificationCode'>>;

export interface DuePush {
  readonly id: string;
  readonly url: string;
  readonly keys: PushKeys | null;
  /** JSON to push; null if no type that the client subscribed to has changed. */
  readonly body: string | null;
  /** State to record as pushed; null if this push only carries a verification code. */
  readonly state: number | null;
  /** End of the lease under which the worker has it. Absent in the answer of an object of 0.2.0. */
  readonly leaseUntil?: number;
}

export interface PushOutcome {
  readonly id: string;
  readonly result: 'done' | 'gone' | 'failed';
}
