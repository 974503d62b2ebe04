/**
 * One look-up for many requests that carry the same credential, as a game server's posts do. It is no cache: a request only
 * takes an answer that was asked for after the request came, so a revoked credential stops working at once.
 *
 * A few look-ups of a credential run side by side. Who comes meanwhile waits; whoever looks up next does so for all who
 * wait. Requests share plain values and never a promise: what awaits a promise that another request resolves may go on in
 * that other request, where its own body cannot be read. So each asks by a timer of its own whether it has been told.
 */
const LOOK_UPS_AT_ONCE = 2;
const ASK_EVERY_MS = 1;
/** A look-up that takes longer is not waited for: the request that made it may have been cut off by its client. */
const WAIT_MAX_MS = 500;
/** From here on, what look-ups that were cut off have left behind is thrown away first. */
const CREDENTIALS_MAX = 1_000;

interface Waiter {
  told: { readonly answer: unknown } | 'ask yourself' | null;
}

interface LookUps {
  /** When each one that is under way began; one that was cut off never ends. */
  readonly running: Map<symbol, number>;
  readonly waiting: Set<Waiter>;
}

const lookUps = new Map<string, LookUps>();

/** @param key names what is looked up. @param ask the look-up itself. */
export async function lookUpTogether<T>(key: string, ask: () => Promise<T>): Promise<T> {
  const group = lookUps.get(key) ?? { running: new Map(), waiting: new Set() };
  if (lookUps.size >= CREDENTIALS_MAX) forgetAbandoned();
  lookUps.set(key, group);
  if (countRunning(group) >= LOOK_UPS_AT_ONCE) {
    const told = await waitForTurn(group);
    if (told !== null) return told.answer as T;
  }
  const me = Symbol();
  group.running.set(me, Date.now());
  const served = [...group.waiting];
  group.waiting.clear();
  let told: Waiter['told'] = 'ask yourself';
  try {
    const answer = await ask();
    told = { answer };
    return answer;
  } finally {
    for (const waiter of served) waiter.told = told;
    group.running.delete(me);
    if (group.running.size === 0 && group.waiting.size === 0) lookUps.delete(key);
  }
}

function countRunning({ running }: LookUps): number {
  const oldest = Date.now() - WAIT_MAX_MS;
  for (const [one, since] of running) if (since < oldest) running.delete(one);
  return running.size;
}

/** Who still waits in a group that is forgotten asks alone. */
function forgetAbandoned(): void {
  for (const [key, group] of lookUps) if (countRunning(group) === 0) lookUps.delete(key);
}

/** @returns null when it is this request's turn to ask. */
async function waitForTurn(group: LookUps): Promise<{ readonly answer: unknown } | null> {
  const me: Waiter = { told: null };
  const since = Date.now();
  group.waiting.add(me);
  try {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
      if (me.told !== null) return me.told === 'ask yourself' ? null : me.told;
      if (Date.now() - since > WAIT_MAX_MS) return null;
      if (group.waiting.has(me) && countRunning(group) < LOOK_UPS_AT_ONCE) return null;
    }
  } finally {
    group.waiting.delete(me);
  }
}
