/**
 * An environment whose databases refuse work once they were put back to an earlier state (`store-age.ts`). The Worker passes it to
 * everything that serves requests and mail. What mends such a database takes the environment without the guard.
 */
import { blobLocations, listStores, writeQuorum } from './bindings.ts';
import { ageKindOf, OlderStoreError, StoreAge } from './store-age.ts';

/** Tells writes from reads. A read that looks like a write only waits for the comparison instead of running beside it. */
const IS_WRITE = /\b(?:INSERT|UPDATE|DELETE|REPLACE\s+INTO)\b/i;

interface Inner {
  readonly statement: D1PreparedStatement;
  readonly isWrite: boolean;
}

type Queries = Pick<D1Database, 'prepare' | 'batch'>;

/** Decides whether a worker may still write to a database. */
export interface WriteGuard {
  /** Runs before each write and beside each read. @throws if the worker may not write. */
  readonly check: () => Promise<void>;
  /** Makes a statement that fails the batch of a write if the worker may not write. */
  readonly toGuard: () => D1PreparedStatement | null;
  /** Names the failure of a batch. */
  readonly rethrow: (error: unknown) => never;
}

/** Wraps the queries of a database, or of a session in a replica. @param hasGuard whether a guard precedes the writes. */
export function guardQueries(real: Queries, age: WriteGuard, hasGuard: boolean): Queries {
  const inner = new WeakMap<object, Inner>();
  const beside = async <T>(work: () => Promise<T>): Promise<T> => (await Promise.all([work(), age.check()]))[0];
  const write = async <T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> => {
    await age.check();
    const guard = hasGuard ? age.toGuard() : null;
    if (guard === null) return real.batch<T>(statements);
    try {
      return (await real.batch<T>([guard, ...statements])).slice(1);
    } catch (error) {
      return age.rethrow(error);
    }
  };
  const wrap = (statement: D1PreparedStatement, isWrite: boolean): D1PreparedStatement => {
    const all = async <T>(): Promise<D1Result<T>> => {
      if (!isWrite) return beside(() => statement.all<T>());
      const [answer] = await write<T>([statement]);
      if (answer === undefined) throw new Error('a batch gave no answer');
      return answer;
    };
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), isWrite),
      all,
      run: all,
      first: async (column?: string) => {
        const [row] = (await all<Record<string, unknown>>()).results;
        if (row === undefined) return null;
        return column === undefined ? row : row[column];
      },
      raw: async (options?: { columnNames: true }) => {
        if (isWrite) await age.check();
        return beside(() => (options === undefined ? statement.raw() : statement.raw(options)));
      },
    } as unknown as D1PreparedStatement;
    inner.set(wrapped, { statement, isWrite });
    return wrapped;
  };
  return {
    prepare: (sql) => wrap(real.prepare(sql), IS_WRITE.test(sql)),
    batch<T>(statements: D1PreparedStatement[]) {
      const found = statements.map((statement) => inner.get(statement) ?? { statement, isWrite: true });
      const list = found.map(({ statement }) => statement);
      return found.some(({ isWrite }) => isWrite) ? write<T>(list) : beside(() => real.batch<T>(list));
    },
  };
}

function guardDatabase(real: D1Database, age: StoreAge): D1Database {
  const guarded = {
    ...guardQueries(real, age, true),
    exec: async (sql: string) => {
      await age.check();
      return real.exec(sql);
    },
    withSession(constraint?: string) {
      const session = real.withSession(constraint);
      return { ...guardQueries(session, age, false), getBookmark: () => session.getBookmark() };
    },
  };
  return guarded as unknown as D1Database;
}

interface GuardedEnvironment {
  readonly env: Env;
  readonly ages: ReadonlyMap<string, StoreAge>;
}

const guardedEnvironments = new WeakMap<object, GuardedEnvironment>();
const unguardedEnvironments = new WeakMap<object, Env>();

function guard(env: Env): GuardedEnvironment {
  const known = guardedEnvironments.get(env);
  if (known) return known;
  const target = () => ({ locations: blobLocations(env), quorum: writeQuorum(env) });
  const ages = new Map<string, StoreAge>();
  const databases: Record<string, D1Database> = {};
  for (const [name, database] of listStores(env).databases) {
    const age = new StoreAge({ name, kind: ageKindOf(name), database }, target);
    ages.set(name, age);
    databases[name] = guardDatabase(database, age);
  }
  const guarded = { env: { ...env, ...databases }, ages };
  guardedEnvironments.set(env, guarded);
  unguardedEnvironments.set(guarded.env, env);
  return guarded;
}

/** Guards every database of an environment. @returns the same object for the same environment. */
export const guardedEnv = (env: Env): Env => guard(env).env;

/** The environment whose databases are not guarded, for work that mends them or reports about them. */
export const unguardedEnv = (env: Env): Env => unguardedEnvironments.get(env) ?? env;

/** Whether work in this environment is refused if its store was put back. */
export const isGuarded = (env: Env): boolean => unguardedEnvironments.has(env);

/** Begins the comparisons that every S3 request needs, so that they run beside its look-ups. Never rejects. */
export async function beginComparisons(env: Env): Promise<void> {
  const { ages } = guard(env);
  const names = ages.has('OBJECTS_1') ? ['DIRECTORY'] : ['DIRECTORY', 'OBJECTS_0'];
  await Promise.all(
    names.map((name) =>
      ages
        .get(name)
        ?.check()
        .catch(() => {}),
    ),
  );
}

/** Finds the databases that were put back to an earlier state. @returns for each database whether it was. */
export async function findOlderStores(env: Env): Promise<ReadonlyMap<string, boolean>> {
  const { ages } = guard(unguardedEnv(env));
  const checked = [...ages].map(async ([name, age]) => [name, await isOlder(age)] as const);
  return new Map(await Promise.all(checked));
}

/** Lets this isolate use a database that was replayed. Others do so within ten seconds. */
export const compareAgain = (env: Env, name: string): void => guard(unguardedEnv(env)).ages.get(name)?.forget();

/** Whether one database was put back to an earlier state. */
export const isStoreOlder = async (env: Env, name: string): Promise<boolean> => {
  const age = guard(unguardedEnv(env)).ages.get(name);
  return age !== undefined && (await isOlder(age));
};

async function isOlder(age: StoreAge): Promise<boolean> {
  try {
    await age.check();
    return false;
  } catch (error) {
    if (error instanceof OlderStoreError) return true;
    throw error;
  }
}
