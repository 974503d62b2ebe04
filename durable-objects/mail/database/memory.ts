import { AttemptPlan } from './attempt-plan.ts';

/**
 * State that is only in memory. Losing it by an eviction costs a repeated check or an early attempt, but no mail. So it needs no
 * rows.
 */
export interface Memory {
  readonly leases: Leases;
  /** End of the lease of the job that pushes changes to devices. If the lease is lost, a push may be repeated. */
  pushedUntil: number;
  /** Delayed wakes by name. A wake does not run before `until`. `tries` counts its runs in a row that failed or left it due. */
  readonly delays: Map<string, { readonly until: number; readonly tries: number }>;
  /** Trace id of the request that accepted the last message, for the logs of processing that message. */
  incomingTrace: string | undefined;
  readonly plan: AttemptPlan;
  /** True once every placing was seen to have a UID. Only older code, and so another object, makes one without. */
  isNumbered: boolean;
  /** Number of the change up to which no draft and no placing needs a new UID. */
  settledState: number;
}

/**
 * Leases of the incoming messages that are being processed, with the end of each. A message is stored only once, so a lost lease
 * costs only a repeated check.
 */
export type Leases = Map<string, { readonly until: number; readonly attempts: number }>;

export const createMemory = (): Memory => ({
  leases: new Map(),
  pushedUntil: 0,
  delays: new Map(),
  incomingTrace: undefined,
  plan: new AttemptPlan(),
  isNumbered: false,
  settledState: -1,
});
