/**
 * State that is in memory only. An eviction loses it, which costs a repeated check or an early attempt, and no mail.
 * So none of it costs a row.
 */
export interface Memory {
  readonly leases: Leases;
  /** End of the lease of the job that pushes changes to devices. A lost lease costs a repeated push. */
  pushedUntil: number;
  /** Delayed wakes by name: the time before which a wake does not run, and how many runs in a row failed or left it due. */
  readonly delays: Map<string, { readonly until: number; readonly tries: number }>;
  /** The trace of the message that was accepted last, for the logs of its processing. */
  incomingTrace: string | undefined;
}

/** The lease of each incoming message that is being processed, and when it ends. A message is stored once, so a lost lease only costs a repeated check. */
export type Leases = Map<string, { readonly until: number; readonly attempts: number }>;

export const createMemory = (): Memory => ({
  leases: new Map(),
  pushedUntil: 0,
  delays: new Map(),
  incomingTrace: undefined,
});
