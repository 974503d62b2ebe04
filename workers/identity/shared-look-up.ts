/**
 * One look-up for many requests that carry the same credential, as a game server's posts do. It is no cache: a request only
 * takes an answer that was asked for after the request came, so a revoked credential stops working at once.
 *
 * A few look-ups of a credential run side by side. Who comes meanwhile waits; whoever looks up next does so for all who
 * wait. Every request waits by a promise and a timer of its own, because the one that asks may be cut off by its client.
 */
const LOOK_UPS_AT_ONCE = 2;
/** A look-up that takes longer is not waited for. */
const WAIT_MAX_MS = 500;
/** From here on, what look-ups that were cut off have left behind is thrown away first. */
const CREDENTIALS_MAX = 1_000;

type Told<T> = { readonly answer: T } | null;

interface LookUps {
  /** When each one that is under way began; one that was cut off never ends. */
  readonly running: Map<symbol, number>;
  /** null: ask, for yourself and all who wait. */
  readonly waiting: Set<(told: Told<unknown>) => void>;
}

const lookUps = new Map<string, LookUps>();

/** @param key names what is looked up. @param ask the look-up itself. */
export async function lookUpTogether<T>(key: string, ask: () => Promise<T>): Promise<T> {
  const group = lookUps.get(key) ?? { running: new Map(), waiting: new Set() };
  if (lookUps.size >= CREDENTIALS_MAX) forgetAbandoned();
  lookUps.set(key, group);
  if (countRunning(group) >= LOOK_UPS_AT_ONCE) {
    const told = await waitForTurn<T>(group);
    if (told !== null) return told.answer;
  }
  const me = Symbol();
  group.running.set(me, Date.now());
  const waiting = [...group.waiting];
  group.waiting.clear();
  let told: Told<T> = null;
  try {
    const answer = await ask();
    told = { answer };
    return answer;
  } finally {
    group.running.delete(me);
    // When it failed, each asks alone.
    for (const tell of waiting) tell(told);
    const [next] = group.waiting;
    next?.(null);
    if (group.running.size === 0 && group.waiting.size === 0) lookUps.delete(key);
  }
}

function countRunning({ running }: LookUps): number {
  const oldest = Date.now() - WAIT_MAX_MS;
  for (const [one, since] of running) if (since < oldest) running.delete(one);
  return running.size;
}

function forgetAbandoned(): void {
  for (const [key, group] of lookUps) if (group.waiting.size === 0 && countRunning(group) === 0) lookUps.delete(key);
}

async function waitForTurn<T>({ waiting }: LookUps): Promise<Told<T>> {
  let tell: (told: Told<unknown>) => void = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    return await new Promise<Told<T>>((resolve) => {
      tell = resolve as typeof tell;
      timer = setTimeout(() => resolve(null), WAIT_MAX_MS);
      waiting.add(tell);
    });
  } finally {
    clearTimeout(timer);
    waiting.delete(tell);
  }
}
