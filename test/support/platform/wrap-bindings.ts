/**
 * Wraps the bindings of a Worker, so that every call to another system passes an interceptor. The rules of the platform
 * (`rules.ts`) and the simulated globe (`bench/globe/`) are interceptors.
 */

export type BindingKind = 'd1' | 'r2' | 'queue' | 'object' | 'service' | 'email' | 'cache' | 'fetch' | 'socket';

export interface BindingCall {
  /** Name of the binding in the environment: `DIRECTORY`, `BLOBS`, … For globals: `fetch`, `caches` or `connect`. */
  readonly binding: string;
  readonly kind: BindingKind;
  readonly method: string;
  /** Arguments of the call. For a batch, they include its statements. */
  readonly args: readonly unknown[];
  /** Id of the Durable Object that is called. Only for the kind `object`. */
  readonly target?: DurableObjectId;
  /** Location hint for the creation of the Durable Object. Only for the kind `object`. */
  readonly locationHint?: string;
}

/**
 * Intercepts one call. It may wait before and after `run`, or throw instead of calling it.
 * @param run makes the call. It accepts other arguments for the call, which only calls of objects use.
 */
export type Interceptor = <T>(call: BindingCall, run: (args?: readonly unknown[]) => Promise<T>) => Promise<T>;

type Method = (...args: unknown[]) => unknown;

const isFunction = (value: unknown): value is Method => typeof value === 'function';

/** Makes a proxy of `target` in which `overrides` replace some members. The other members work on the target. */
function intercepted<T extends object>(target: T, overrides: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(_, key) {
      if (typeof key === 'string' && Object.hasOwn(overrides, key)) return overrides[key];
      const found = Reflect.get(target, key, target);
      return isFunction(found) ? found.bind(target) : found;
    },
  });
}

/** The original statement of each wrapped one. D1 accepts only its own statements in a batch. */
const statements = new WeakMap<object, D1PreparedStatement>();
export const unwrapStatement = (statement: D1PreparedStatement): D1PreparedStatement =>
  statements.get(statement) ?? statement;

function wrapStatement(binding: string, statement: D1PreparedStatement, intercept: Interceptor): D1PreparedStatement {
  const run = (method: 'all' | 'first' | 'raw' | 'run') => {
    const original = statement[method] as Method;
    return (...args: unknown[]) =>
      intercept(
        { binding, kind: 'd1', method, args: [statement] },
        () => original.apply(statement, args) as Promise<unknown>,
      );
  };
  const wrapped = intercepted(statement, {
    bind: (...values: unknown[]) => wrapStatement(binding, statement.bind(...values), intercept),
    all: run('all'),
    first: run('first'),
    raw: run('raw'),
    run: run('run'),
  });
  statements.set(wrapped, statement);
  return wrapped;
}

type Database = D1Database | D1DatabaseSession;

function wrapDatabase<T extends Database>(binding: string, database: T, intercept: Interceptor): T {
  const overrides: Record<string, unknown> = {
    prepare: (sql: string) => wrapStatement(binding, database.prepare(sql), intercept),
    batch: (list: D1PreparedStatement[]) => {
      const inner = list.map(unwrapStatement);
      return intercept({ binding, kind: 'd1', method: 'batch', args: inner }, () => database.batch(inner));
    },
  };
  if ('withSession' in database) {
    overrides.withSession = (constraint?: string) => wrapDatabase(binding, database.withSession(constraint), intercept);
    overrides.exec = (sql: string) =>
      intercept({ binding, kind: 'd1', method: 'exec', args: [sql] }, () => database.exec(sql));
  }
  return intercepted(database, overrides);
}

/** Wraps all methods of a binding, if all of them are calls to another system. */
function wrapMethods<T extends object>(
  binding: string,
  kind: BindingKind,
  target: T,
  intercept: Interceptor,
  about: Pick<BindingCall, 'target' | 'locationHint'> = {},
): T {
  return new Proxy(target, {
    get(_, key) {
      const found = Reflect.get(target, key, target);
      if (!isFunction(found) || typeof key !== 'string') return found;
      if (kind === 'object' && (key === 'dup' || key === 'then')) return found;
      // A stub's methods are remote. So they are called on the stub itself, never through `apply`.
      return (...args: unknown[]) =>
        intercept({ binding, kind, method: key, args, ...about }, async (changed = args) =>
          (target as Record<string, Method>)[key]?.(...changed),
        );
    },
  });
}

function wrapNamespace(
  binding: string,
  namespace: DurableObjectNamespace,
  intercept: Interceptor,
): DurableObjectNamespace {
  type Options = DurableObjectNamespaceGetDurableObjectOptions;
  const wrapStub = (stub: DurableObjectStub, options?: Options) =>
    wrapMethods(binding, 'object', stub, intercept, {
      target: stub.id,
      ...(options?.locationHint ? { locationHint: options.locationHint } : {}),
    });
  return intercepted(namespace, {
    get: (id: DurableObjectId, options?: Options) => wrapStub(namespace.get(id, options), options),
    getByName: (name: string, options?: Options) => wrapStub(namespace.getByName(name, options), options),
  });
}

/** Wraps one binding by its kind. Variables and rate limiters are returned unchanged. */
function wrapBinding(binding: string, value: unknown, intercept: Interceptor): unknown {
  if (typeof value !== 'object' || value === null) return value;
  // Miniflare's binding is an RPC stub, which seems to have every method.
  if (binding === 'EMAIL') return wrapMethods(binding, 'email', value, intercept);
  if ('prepare' in value) return wrapDatabase(binding, value as D1Database, intercept);
  if ('idFromName' in value) return wrapNamespace(binding, value as DurableObjectNamespace, intercept);
  if ('createMultipartUpload' in value) return wrapMethods(binding, 'r2', value, intercept);
  if ('sendBatch' in value) return wrapMethods(binding, 'queue', value, intercept);
  if ('fetch' in value) return wrapMethods(binding, 'service', value, intercept);
  return value;
}

const wrappedEnvironments = new WeakMap<object, object>();

/**
 * Wraps an environment.
 * @returns the same wrapped object for the same environment, because the code keeps parsed settings by environment.
 */
export function wrapEnvironment<T extends object>(env: T, intercept: Interceptor): T {
  const known = wrappedEnvironments.get(env);
  if (known) return known as T;
  const entries = Object.entries(env).map(([name, value]) => [name, wrapBinding(name, value, intercept)]);
  const wrapped = Object.fromEntries(entries) as T;
  wrappedEnvironments.set(env, wrapped);
  return wrapped;
}

/** Wraps the global `fetch` and the Cache API, so that their calls pass the interceptor. */
export function wrapGlobals(intercept: Interceptor): void {
  const realFetch = globalThis.fetch.bind(globalThis);
  globalThis.fetch = ((...args: Parameters<typeof fetch>) =>
    intercept({ binding: 'fetch', kind: 'fetch', method: 'fetch', args }, () => realFetch(...args))) as typeof fetch;
  const cache = wrapMethods('caches', 'cache', caches.default, intercept);
  Object.defineProperty(caches, 'default', { get: () => cache, configurable: true });
}
