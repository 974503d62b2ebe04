/**
 * The running event: a request, a batch of queue messages, a cron run or a call of an object. Its trace id (W3C Trace Context) is
 * in each of its log lines, and is passed on with queue messages and calls of objects.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

interface Invocation {
  readonly env: Env;
  /** Trace id: 32 hexadecimal digits. */
  readonly traceId: string;
}

const invocations = new AsyncLocalStorage<Invocation>();

export const currentInvocation = (): Invocation | undefined => invocations.getStore();

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/**
 * Reads the trace id from a `traceparent` header; undefined if the header is absent or malformed.
 * https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function readTraceParent(header: string | null): string | undefined {
  return TRACE_PARENT.exec(header ?? '')?.[1];
}

/**
 * Runs the work of an event.
 * @param traceId trace id of the event that caused it. If it is absent or malformed, a new trace begins.
 */
export function runInvocation<T>(env: Env, traceId: string | undefined, work: () => T): T {
  const isValid = traceId !== undefined && TRACE_ID.test(traceId);
  return invocations.run({ env, traceId: isValid ? traceId : crypto.randomUUID().replaceAll('-', '') }, work);
}

/** An object class that can run calls in the trace of their caller. */
interface Traceable {
  inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown>;
}

/**
 * Implements `inTrace` of an object class. Calls of objects have no headers, so `inTrace` is one call with the trace id as an
 * argument.
 */
export async function callInTrace(
  object: object,
  env: Env,
  traceId: string,
  method: string,
  args: unknown[],
): Promise<unknown> {
  const call: unknown = Reflect.get(object, method);
  if (typeof call !== 'function') throw new TypeError(`no call is named ${method}`);
  return runInvocation(env, traceId, () => Reflect.apply(call, object, args));
}

/** Names of members of the stub itself, which do not call the object. */
const OF_STUB = new Set(['id', 'name', 'fetch', 'connect', 'inTrace', 'then', 'dup']);

/** Wraps a stub so that its calls carry the trace id of the running event. Outside of an event, returns the stub itself. */
export function withTrace<T extends object>(stub: T): T {
  const invocation = currentInvocation();
  if (invocation === undefined) return stub;
  return new Proxy(stub, {
    get(target, name) {
      if (typeof name === 'symbol' || OF_STUB.has(name)) {
        const member: unknown = Reflect.get(target, name);
        // The method is applied, not bound, because `bind` on a method of a stub would call the object.
        return typeof member === 'function' ? (...args: unknown[]) => Reflect.apply(member, target, args) : member;
      }
      return (...args: unknown[]) => (target as T & Traceable).inTrace(invocation.traceId, name, args);
    },
  });
}
