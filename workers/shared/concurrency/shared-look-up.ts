/**
 * Shares one look-up among concurrent requests with the same credential, such as posts of a game server. This is not a cache: a
 * request uses only results of look-ups that began after the request arrived, so sharing does not delay the effect of a revocation.
 *
 * At most two look-ups of a credential run at a time. Other requests wait, and the next look-up serves all of them.
 * Requests share plain values and never a promise: code that awaits a promise of another request may continue in that
 * request's context, where its own body cannot be read. Waiters therefore poll with their own timers.
 */
const LOOK_UPS_AT_ONCE = 2;
const POLL_MS = 1;
/** Time after which requests stop waiting for a look-up, because the request that runs it may have been cancelled. */
const WAIT_MAX_MS = 500;
/** Number of credentials above which the entries of cancelled look-ups are removed first. */
const CREDENTIALS_MAX = 1_000;

interface Waiter {
  outcome: { readonly answer: unknown } | 'look up alone' | null;
}

interface LookUps {
  /** Start times of the running look-ups. One whose request was cancelled never ends. */
  readonly running: Map<symbol, number>;
  readonly waiting: Set<Waiter>;
}

const lookUps = new Map<string, LookUps>();

/** Runs a look-up, or shares the next one of another request. @param key identifies the credential. */
export async function lookUpTogether<T>(key: string, lookUp: () => Promise<T>): Promise<T> {
  const group = lookUps.get(key) ?? { running: new Map(), waiting: new Set() };
  if (lookUps.size >= CREDENTIALS_MAX) forgetAbandoned();
  lookUps.set(key, group);
  if (countRunning(group) >= LOOK_UPS_AT_ONCE) {
    const outcome = await waitForTurn(group);
    if (outcome !== null) return outcome.answer as T;
  }
  const me = Symbol();
  group.running.set(me, Date.now());
  const served = [...group.waiting];
  group.waiting.clear();
  let outcome: Waiter['outcome'] = 'look up alone';
  try {
    const answer = await lookUp();
    outcome = { answer };
    return answer;
  } finally {
    for (const waiter of served) waiter.outcome = outcome;
    group.running.delete(me);
    if (group.running.size === 0 && group.waiting.size === 0) lookUps.delete(key);
  }
}

function countRunning({ running }: LookUps): number {
  const oldest = Date.now() - WAIT_MAX_MS;
  for (const [one, since] of running) if (since < oldest) running.delete(one);
  return running.size;
}

/** Removes groups without a running look-up. Requests that still wait in such a group look up alone. */
function forgetAbandoned(): void {
  for (const [key, group] of lookUps) if (countRunning(group) === 0) lookUps.delete(key);
}

/** Waits for the result of another request's look-up. @returns null if this request has to look up itself. */
async function waitForTurn(group: LookUps): Promise<{ readonly answer: unknown } | null> {
  const me: Waiter = { outcome: null };
  const since = Date.now();
  group.waiting.add(me);
  try {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (me.outcome !== null) return me.outcome === 'look up alone' ? null : me.outcome;
      if (Date.now() - since > WAIT_MAX_MS) return null;
      if (group.waiting.has(me) && countRunning(group) < LOOK_UPS_AT_ONCE) return null;
    }
  } finally {
    group.waiting.delete(me);
  }
}
