/** Wraps the handlers and classes of a Worker, so that each event runs as one invocation with a wrapped environment. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Interceptor, wrapEnvironment } from './wrap-bindings.ts';

/** State of one event: a request, a batch, an alarm, or a call of an object. */
export interface Invocation {
  /** Name of the event: `fetch`, `queue`, `scheduled`, `email`, or `Class.method` for a Durable Object. */
  readonly event: string;
  readonly isObject: boolean;
  /** True after the handler has returned. Timers of a Durable Object may still run. */
  isDone: boolean;
  readonly request?: Request;
  /** Id of the Durable Object that is called, and the arguments of its call. The wrapper may change the arguments. */
  readonly object?: DurableObjectId;
  readonly args?: unknown[];
}

type AnyMethod = (...args: unknown[]) => unknown;
// biome-ignore lint/suspicious/noExplicitAny: the mixin pattern of TypeScript asks for any[]
type AnyClass = new (...args: any[]) => object;

export interface EntryWrapper<T extends Invocation> {
  /** Makes the state of one invocation when it begins. */
  begin(invocation: Invocation): T;
  /** Runs after the handler of the invocation has returned. */
  end?(invocation: T): void;
  readonly intercept: Interceptor;
  /** Runs each time that an environment is used, before it is wrapped. */
  prepareEnvironment?(env: object): void;
  wrapContext?(context: ExecutionContext, invocation: Invocation): ExecutionContext;
  /** Wraps the state of a Durable Object: its storage and its alarms. */
  wrapState?(state: DurableObjectState): DurableObjectState;
}

export class Entry<T extends Invocation> {
  readonly #invocations = new AsyncLocalStorage<T>();
  readonly #wrapper: EntryWrapper<T>;

  constructor(makeWrapper: (current: () => T | undefined) => EntryWrapper<T>) {
    this.#wrapper = makeWrapper(() => this.#invocations.getStore());
  }

  /** The invocation whose code is running. Undefined outside of events. */
  current(): T | undefined {
    return this.#invocations.getStore();
  }

  get intercept(): Interceptor {
    return this.#wrapper.intercept;
  }

  #wrapEnvironment(env: Env): Env {
    this.#wrapper.prepareEnvironment?.(env);
    return wrapEnvironment(env, this.intercept);
  }

  async #run(invocation: Invocation, work: () => unknown): Promise<unknown> {
    const state = this.#wrapper.begin(invocation);
    try {
      return await this.#invocations.run(state, async () => work());
    } finally {
      state.isDone = true;
      this.#wrapper.end?.(state);
    }
  }

  /** Wraps the handlers of the Worker's `export default`. */
  wrapHandlers(handlers: ExportedHandler<Env>): ExportedHandler<Env> {
    const names = Object.keys(handlers) as (keyof ExportedHandler<Env>)[];
    const wrap = (name: keyof ExportedHandler<Env>) => {
      const handler = handlers[name] as AnyMethod;
      return (subject: unknown, env: Env, ctx: ExecutionContext) => {
        const invocation: Invocation = {
          event: name,
          isObject: false,
          isDone: false,
          ...(subject instanceof Request ? { request: subject } : {}),
        };
        const context = this.#wrapper.wrapContext?.(ctx, invocation) ?? ctx;
        return this.#run(invocation, () => handler(subject, this.#wrapEnvironment(env), context));
      };
    };
    return Object.fromEntries(names.map((name) => [name, wrap(name)]));
  }

  /** Wraps a Durable Object class or an entrypoint class: each public call is an invocation. */
  wrapClass<C extends AnyClass>(name: string, Base: C, isObject: boolean): C {
    const { wrapState } = this.#wrapper;
    const wrapEnv = (env: Env) => this.#wrapEnvironment(env);
    const Wrapped = class extends Base {
      // biome-ignore lint/suspicious/noExplicitAny: the mixin pattern of TypeScript asks for any[]
      constructor(...args: any[]) {
        const [context, env] = args;
        super(isObject && wrapState ? wrapState(context) : context, wrapEnv(env));
      }
    };
    const run = (event: string, self: { ctx?: DurableObjectState }, args: unknown[], work: () => unknown) => {
      const object = isObject && self.ctx ? { object: self.ctx.id } : {};
      return this.#run({ event, isObject, isDone: false, args, ...object }, work);
    };
    for (const method of methodsOf(Base)) {
      if (method === 'inTrace') continue;
      const original = Reflect.get(Base.prototype, method) as AnyMethod;
      Object.defineProperty(Wrapped.prototype, method, {
        configurable: true,
        writable: true,
        value(this: object, ...args: unknown[]) {
          return run(`${name}.${method}`, this, args, () => original.apply(this, args));
        },
      });
    }
    // `inTrace` calls another method, and that call is the invocation. So arguments that a wrapper added belong to that call.
    const inTrace: unknown = Reflect.get(Base.prototype, 'inTrace');
    if (typeof inTrace === 'function')
      Object.defineProperty(Wrapped.prototype, 'inTrace', {
        configurable: true,
        writable: true,
        value(this: object, traceId: string, method: string, args: unknown[], ...added: unknown[]) {
          return Reflect.apply(inTrace, this, [traceId, method, [...args, ...added]]);
        },
      });
    return Wrapped;
  }
}

/** Lists the names of the methods of a class and of the classes that it extends, without those of the runtime. */
function methodsOf(Base: AnyClass): string[] {
  const names = new Set<string>();
  for (let at = Base.prototype; isOurs(at); at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name !== 'constructor' && typeof value === 'function') names.add(name);
    }
  }
  return [...names];
}

const isOurs = (prototype: object | null): prototype is object =>
  prototype !== null &&
  prototype !== Object.prototype &&
  !/^(?:DurableObject|WorkerEntrypoint)$/.test(prototype.constructor.name);
