/**
 * State that is in memory only. An eviction loses it, which costs a repeated check or an early attempt, and no mail.
 * So none of it costs a row.
 */
export interface Memory {
  readonly leases: Leases;
  /** Until when a job pushes changes to devices. A lost lease costs a repeated push. */
  pushedUntil: number;
  /** Wakes that are not run before a time, after how many runs that left them due. */
  readonly delays: Map<string, { readonly until: number; readonly tries: number }>;
  /** The trace of the message that was accepted last, for the logs of its processing. */
  incomingTrace: string | undefined;
  /** Since when the operator's totals are behind; null if they are not, as far as is known. */
  ledgerBehindSince: number | null;
}

/** The lease of each incoming message that is being processed, and when it ends. A message is stored once, so a lost lease only costs a repeated check. */
export type Leases = Map<string, { readonly until: number; readonly attempts: number }>;

export const createMemory = (): Memory => ({
  leases: new Map(),
  pushedUntil: 0,
  delays: new Map(),
  ledgerBehindSince: null,
  incomingTrace: undefined,
});
