/**
 * The rules that only the production platform enforces, for tests. Sources: Cloudflare's documentation of November 2026, "Workers
 * limits" (simultaneous open connections, subrequests, duration of `waitUntil`), "D1 limits" (queries per invocation), "Performance
 * and timers" (a clock that stands still between I/O).
 *
 * A call beyond six connections waits, as in production. A call beyond a budget throws. Work that production would cancel silently
 * (`waitUntil`) is logged as `platform_violation`, which fails the test. TCP sockets (`connect`) are not counted.
 */
import type { BindingKind, Interceptor } from './wrap-bindings.ts';
import type { EntryWrapper, Invocation } from './wrap-entry.ts';

export interface Rules {
  /** Limit of connections per invocation that wait for an answer at the same time. */
  readonly connections: number;
  /** Limit of calls to other systems per invocation. */
  readonly subrequests: number;
  /** Limit of D1 queries per invocation. A batch counts as one. */
  readonly queries: number;
  /** How long a call may wait for a connection before it is reported as a deadlock. */
  readonly deadlockMs: number;
}

/**
 * Limits of production. `subrequests` is the default limit: `[limits]` of wrangler.toml allows more, but no flow of the tests needs
 * more.
 */
export const PRODUCTION: Rules = { connections: 6, subrequests: 10_000, queries: 1_000, deadlockMs: 20_000 };

/** Kinds of bindings whose calls use a connection of the invocation. Calls of D1 and Durable Objects use none. */
const USES_CONNECTION: ReadonlySet<BindingKind> = new Set([
  'r2',
  'queue',
  'cache',
  'fetch',
  'socket',
  'service',
  'email',
]);

/** Semaphore: lets `size` holders in at once. The others wait in order. */
class ConnectionGate {
  readonly #waiting: (() => void)[] = [];
  readonly #holders = new Map<symbol, string>();
  readonly #rules: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  async enter(name: string): Promise<() => void> {
    const holder = Symbol(name);
    if (this.#holders.size >= this.#rules.connections) await this.#wait(name);
    this.#holders.set(holder, name);
    return () => {
      this.#holders.delete(holder);
      this.#waiting.shift()?.();
    };
  }

  async #wait(name: string): Promise<void> {
    const timer = setTimeout(() => {
      report('connections', `${name} waits for ${[...this.#holders.values()].join(', ')}`);
    }, this.#rules.deadlockMs);
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    clearTimeout(timer);
  }
}

export interface RuledInvocation extends Invocation {
  readonly gate: ConnectionGate;
  subrequests: number;
  queries: number;
  /** Time that the code sees while the clock stands still. Null after I/O, when the clock may advance. */
  now: number | null;
}

/** Logs a violation as one JSON line. `startServer` in `test/support/server.ts` fails the test that finds it in the log. */
function report(rule: string, detail: string): void {
  console.error(JSON.stringify({ level: 'error', event: 'platform_violation', rule, detail }));
}

export function makeRules(rules: Rules, current: () => RuledInvocation | undefined): EntryWrapper<RuledInvocation> {
  const intercept: Interceptor = async (call, run) => {
    const invocation = current();
    if (!invocation) return run();
    // Calls that a Durable Object makes between its events do not count against the budget of an event.
    if (!(invocation.isObject && invocation.isDone)) {
      if (++invocation.subrequests > rules.subrequests)
        throw new Error('Too many subrequests by single Worker invocation.');
      if (call.kind === 'd1' && ++invocation.queries > rules.queries) {
        throw new Error('D1_ERROR: Too many queries by single Worker invocation.');
      }
    }
    if (!USES_CONNECTION.has(call.kind)) return run();
    const leave = await invocation.gate.enter(`${call.binding}.${call.method}`);
    try {
      return await run();
    } finally {
      leave();
    }
  };
  return {
    intercept,
    begin: (invocation) => ({
      ...invocation,
      gate: new ConnectionGate(rules),
      subrequests: 0,
      queries: 0,
      now: null,
    }),
    wrapContext: (context, { event }) => watchWaitUntil(context, event),
  };
}

/**
 * Freezes the clock while code runs, as production does. The clock advances when the runtime delivers the next event, such as an
 * answer that the code awaits.
 */
export function freezeClock(current: () => RuledInvocation | undefined): void {
  const realNow = Date.now.bind(Date);
  const now = () => {
    const invocation = current();
    if (!invocation) return realNow();
    if (invocation.now === null) {
      invocation.now = realNow();
      setTimeout(() => {
        invocation.now = null;
      }, 0);
    }
    return invocation.now;
  };
  const startedAt = realNow();
  Date.now = now;
  performance.now = () => now() - startedAt;
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
  });
}

/** Report `waitUntil` work that is still running 30 s after the answer, when production would end it. */
function watchWaitUntil(ctx: ExecutionContext, event: string): ExecutionContext {
  const waitUntil = (work: Promise<unknown>) => {
    const timer = setTimeout(() => report('wait_until', `${event} has work 30 s after its answer`), 30_000);
    const done = () => clearTimeout(timer);
    ctx.waitUntil(
      work.then(done, (error: unknown) => {
        done();
        throw error;
      }),
    );
  };
  return new Proxy(ctx, {
    get(target, key) {
      if (key === 'waitUntil') return waitUntil;
      const found = Reflect.get(target, key, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}
