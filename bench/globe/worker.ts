/**
 * The Worker on the simulated globe. Each call is counted, and waits as long as it would take between its caller's region and the
 * region of the store or object. `x-globe-region` names the client's region, `x-globe-trace` the operation. `GET /__globe/take`
 * returns the counts, `GET /__globe/idle` the milliseconds since the last activity. Paths below `/__globe/floor/` are the floors of
 * operations. The twin sends its writes of DIRECTORY to `REPLICATE_PATH`.
 */
import { type BindingCall, type Interceptor, wrapGlobals } from '../../test/support/platform/wrap-bindings.ts';
import { Entry, type EntryWrapper, type Invocation } from '../../test/support/platform/wrap-entry.ts';
import * as real from '../../workers/index.ts';
import { AGE_NUMBERS } from '../../workers/shared/stores/age-store.ts';
import { wireDatabase } from './d1-wire.ts';
import { answerFloor, FLOOR_PATH } from './floor.ts';
import { addCall, BACKGROUND, COMPARISON, type Counts, Meter } from './meter.ts';
import { CATCH_UP_PATH, nearestReplica, REPLICA_BINDINGS, REPLICATE_PATH, Replicas } from './replicas.ts';
import {
  BANDWIDTH,
  BUCKET_REGIONS,
  CACHE_MS,
  CONTINENTS,
  FAR_UPLOAD_BANDWIDTH,
  HINT_REGIONS,
  HOME,
  isRegion,
  LONG_HAUL_MS,
  NEAR_UPLOAD_BANDWIDTH,
  type Region,
  roundTripMs,
  SERVICE_MS,
} from './world.ts';

interface GlobeInvocation extends Invocation {
  readonly region: Region;
  readonly trace: string;
}

/** Argument that is added to each call of a Durable Object, so that the object knows the operation (trace). */
interface Carrier {
  readonly globe: { readonly trace: string };
}
const isCarrier = (value: unknown): value is Carrier => typeof value === 'object' && value !== null && 'globe' in value;

const meter = new Meter();
/** Region of each Durable Object: its location hint, or the region of its first caller if it has none. */
const homes = new Map<string, Region>();
const REGION_HEADER = 'x-globe-region';
const TRACE_HEADER = 'x-globe-trace';
const CLASS_A = new Set(['put', 'list', 'createMultipartUpload']);
const CLASS_B = new Set(['get', 'head']);

/** Keys and queries with which `store-age.ts` compares the age of a database. */
const AGE_KEY = /^(?:owners\/objects-\d+|ages\/directory)/;
const AGE_QUERIES = Object.values(AGE_NUMBERS);

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Invocation for calls that no event caused, such as those of a timer in a Durable Object. */
const OUTSIDE: GlobeInvocation = { event: 'timer', isObject: true, isDone: true, region: HOME, trace: BACKGROUND };

function homeOf(call: BindingCall, from: Region): Region {
  const key = `${call.binding}:${call.target}`;
  const known = homes.get(key);
  if (known) return known;
  const home = HINT_REGIONS[call.locationHint ?? ''] ?? from;
  homes.set(key, home);
  return home;
}

interface Bytes<T> {
  readonly there: number;
  back(answer: T): number;
  /** Time in milliseconds of the upload of a body. Its size is known from the answer, because it may be a stream. */
  uploaded?(answer: T): number;
}

interface Destination {
  readonly region: Region;
  readonly store: keyof typeof SERVICE_MS;
}

/** Simulates the distance of a call: waits for the way there, runs the call, and waits for the way back. */
async function travel<T>(
  invocation: GlobeInvocation,
  { region, store }: Destination,
  bytes: Bytes<T>,
  run: () => Promise<T>,
): Promise<T> {
  const oneWayMs = roundTripMs(invocation.region, region) / 2;
  const leg = async (ms: number) => {
    const start = Date.now();
    await sleep(ms);
    if (2 * oneWayMs > LONG_HAUL_MS) meter.addLeg(invocation.trace, { start, end: Date.now() });
  };
  meter.enter();
  try {
    await leg(oneWayMs + bytes.there / BANDWIDTH);
    const [answer] = await Promise.all([run(), sleep(SERVICE_MS[store])]);
    await leg(oneWayMs + bytes.back(answer) / BANDWIDTH);
    await sleep(bytes.uploaded?.(answer) ?? 0);
    return answer;
  } finally {
    meter.leave();
  }
}

const NO_BYTES = { there: 0, back: () => 0 };
const sizeOfObject = (answer: unknown): number => {
  const found = answer as Partial<R2ObjectBody> | null;
  if (!found?.body) return 0;
  return found.range && 'length' in found.range ? (found.range.length ?? 0) : (found.size ?? 0);
};

const entry = new Entry<GlobeInvocation>((current) => {
  const intercept: Interceptor = async <T>(
    call: BindingCall,
    run: (args?: readonly unknown[]) => Promise<T>,
  ): Promise<T> => {
    const caused = current() ?? OUTSIDE;
    const isComparison = call.kind === 'r2' && call.method === 'get' && AGE_KEY.test(String(call.args[0]));
    const invocation = isComparison ? { ...caused, trace: COMPARISON } : caused;
    const counts = meter.counts(invocation.trace);
    if (call.kind !== 'd1') addCall(counts, `${call.binding}.${call.method}`);
    switch (call.kind) {
      case 'r2': {
        if (CLASS_A.has(call.method)) counts.r2_a++;
        if (CLASS_B.has(call.method)) counts.r2_b++;
        const region = BUCKET_REGIONS[call.binding] ?? HOME;
        const bandwidth = region === invocation.region ? NEAR_UPLOAD_BANDWIDTH : FAR_UPLOAD_BANDWIDTH;
        const uploaded = (answer: T) => ((answer as Partial<R2Object> | null)?.size ?? 0) / bandwidth;
        const bytes = { there: 0, back: sizeOfObject, ...(call.method === 'put' ? { uploaded } : {}) };
        return travel<T>(invocation, { region, store: 'r2' }, bytes, () => run());
      }
      case 'queue':
        if (call.method !== 'metrics') addMessages(counts, call);
        return travel(invocation, { region: invocation.region, store: 'queue' }, NO_BYTES, () => run());
      case 'object': {
        counts.do_requests++;
        const carrier: Carrier = { globe: { trace: invocation.trace } };
        const args = call.method === 'fetch' ? withTrace(call.args, invocation.trace) : [...call.args, carrier];
        const region = homeOf(call, invocation.region);
        return travel(invocation, { region, store: 'object' }, NO_BYTES, () => run(args));
      }
      case 'cache':
        // Each region has its own cache, so the key of an entry contains the region.
        await sleep(CACHE_MS);
        return run([inRegion(call.args[0] as RequestInfo, invocation.region), ...call.args.slice(1)]);
      default:
        // Calls of D1 are delayed below its client (`wireDatabases`). Other calls take no time here.
        return run();
    }
  };
  const wrapper: EntryWrapper<GlobeInvocation> = {
    intercept,
    begin(invocation) {
      const { args = [], object, request } = invocation;
      const carrier = isCarrier(args.at(-1)) ? (args.pop() as Carrier) : undefined;
      const headers = request?.headers ?? (args[0] instanceof Request ? args[0].headers : undefined);
      const trace = carrier?.globe.trace ?? headers?.get(TRACE_HEADER) ?? BACKGROUND;
      const named = headers?.get(REGION_HEADER) ?? '';
      const home = object && [...homes].find(([key]) => key.endsWith(`:${object}`))?.[1];
      meter.counts(trace).events++;
      meter.enter();
      return { ...invocation, trace, region: home ?? (isRegion(named) ? named : HOME) };
    },
    end: () => meter.leave(),
    prepareEnvironment: wireDatabases,
    wrapState: (state) => wrapState(state, () => current() ?? OUTSIDE),
  };
  wrapLogs(() => current()?.trace ?? BACKGROUND);
  return wrapper;
});
wrapGlobals(entry.intercept);

function inRegion(input: RequestInfo, region: Region): Request {
  const request = new Request(input);
  const url = new URL(request.url);
  url.hostname = `${region}.${url.hostname}`;
  return new Request(url, request);
}

function withTrace([input, init]: readonly unknown[], trace: string): unknown[] {
  const request = new Request(input as RequestInfo, init as RequestInit);
  request.headers.set(TRACE_HEADER, trace);
  return [request];
}

function wrapLogs(trace: () => string): void {
  for (const name of ['log', 'info', 'warn', 'error'] as const) {
    const print = console[name].bind(console);
    console[name] = (...args: unknown[]) => {
      meter.counts(trace()).log_lines++;
      if (name === 'error') print(...args);
    };
  }
}

/** Counts the alarms of a Durable Object and the rows that its storage reads and writes. */
function wrapState(state: DurableObjectState, current: () => GlobeInvocation): DurableObjectState {
  const { storage } = state;
  const { sql } = storage;
  const write = (what: string) => {
    const { trace, event } = current();
    meter.addRows(trace, `${event} ${what}`, { rowsRead: 0, rowsWritten: 1 });
  };
  const countedSql = overriding(sql, {
    exec: (...args: Parameters<SqlStorage['exec']>) => {
      const cursor = sql.exec(...args);
      const { trace, event } = current();
      meter.addCursor(trace, `${event} ${toStart(args[0])}`, cursor);
      return cursor;
    },
  });
  const countedStorage = overriding(storage, {
    sql: countedSql,
    setAlarm: (...args: Parameters<DurableObjectStorage['setAlarm']>) => {
      write('setAlarm');
      return storage.setAlarm(...args);
    },
    put: (...args: Parameters<DurableObjectStorage['put']>) => {
      write('put');
      return storage.put(...args);
    },
  });
  // Replace the storage inside the state: the base class of Durable Objects accepts only the runtime's own state object.
  Object.defineProperty(state, 'storage', { value: countedStorage });
  return state;
}

function overriding<T extends object>(target: T, overrides: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(_, key) {
      if (typeof key === 'string' && Object.hasOwn(overrides, key)) return overrides[key];
      const found = Reflect.get(target, key, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
    set: (_, key, value) => Reflect.set(target, key, value, target),
  });
}

/** Queue whose consumer is the operator's, so that nothing here takes its messages. */
const QUEUE_WITHOUT_CONSUMER = 'STORAGE_EVENTS';
/** Messages with a longer delay are not waited for. In seconds. */
const SHORT_DELAY_SECONDS = 2;

function addMessages(counts: Counts, { binding, method, args }: BindingCall): void {
  const messages = method === 'sendBatch' ? (args[0] as unknown[]).length : 1;
  counts.queue_ops += messages;
  const { delaySeconds = 0 } = (args[1] ?? {}) as QueueSendOptions;
  if (binding !== QUEUE_WITHOUT_CONSUMER && delaySeconds <= SHORT_DELAY_SECONDS) meter.addQueued(messages);
}

const wired = new WeakSet<object>();
const replicas = new Replicas();
/** Intercepts the D1 databases of an environment below their client, once per environment. */
function wireDatabases(env: object): void {
  if (wired.has(env)) return;
  wired.add(env);
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'object' || value === null || !('prepare' in value)) continue;
    if (REPLICA_BINDINGS.includes(name)) continue;
    wireDatabase(value as D1Database, async ({ run, readResult, session, write }) => {
      const caused = entry.current() ?? OUTSIDE;
      const isComparison = AGE_QUERIES.some((query) => write.body.includes(JSON.stringify(query)));
      const invocation = isComparison ? { ...caused, trace: COMPARISON } : caused;
      const counts = meter.counts(invocation.trace);
      const isReplicated = name === 'DIRECTORY';
      const mayAskReplica = isReplicated && session !== null && session !== 'first-primary';
      const replicaRegion = nearestReplica(invocation.region);
      const replica = mayAskReplica ? await replicas.at(replicaRegion, env) : null;
      if (isReplicated && !replica) counts.directory_primary++;
      const response = replica
        ? await travel(invocation, { region: replicaRegion, store: 'd1' }, NO_BYTES, () =>
            replica.fetch(write.url, toPost(write.body)),
          )
        : await travel(invocation, { region: HOME, store: 'd1' }, NO_BYTES, run);
      const result = await readResult(response);
      if (isReplicated && result.rowsWritten > 0) replicas.add(write);
      const query = `${replica ? 'replica' : name} ${toStart(write.body)}`;
      addCall(counts, query);
      meter.addRows(invocation.trace, query, result);
      return response;
    });
  }
}

/** The beginning of a query, as its name in the output. */
const toStart = (query: string): string => query.replaceAll(/\\n|\s+/g, ' ').slice(0, 90);

const toPost = (body: string): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body,
});

/** The Durable Object that serves floors. */
class ShardWithFloor extends real.LeaderboardShard {
  async floor(): Promise<number> {
    return 0;
  }
}

const { fetch: answer } = real.default;
const handlers = entry.wrapHandlers({
  ...real.default,
  fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    const isFloor = pathname.startsWith(FLOOR_PATH);
    return isFloor ? answerFloor(pathname.slice(FLOOR_PATH.length), request, env) : answer(request, env, ctx);
  },
});
export const LeaderboardSeason = entry.wrapClass('LeaderboardSeason', real.LeaderboardSeason, true);
export const LeaderboardShard = entry.wrapClass('LeaderboardShard', ShardWithFloor, true);
export const LeaderboardView = entry.wrapClass('LeaderboardView', real.LeaderboardView, true);
export const Mailbox = entry.wrapClass('Mailbox', real.Mailbox, true);
export const MailboxJobs = entry.wrapClass('MailboxJobs', real.MailboxJobs, false);
export default {
  ...handlers,
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === '/__globe/take') return Response.json(meter.take());
    if (pathname === '/__globe/idle') return Response.json({ ms: meter.idleMs });
    if (pathname === REPLICATE_PATH) {
      replicas.add(await request.json());
      return new Response(null);
    }
    if (pathname === CATCH_UP_PATH) {
      await replicas.catchUp(env);
      return new Response(null);
    }
    const region = request.headers.get(REGION_HEADER) ?? '';
    const local = isRegion(region) ? new Request(request, { cf: { continent: CONTINENTS[region] } }) : request;
    return (handlers.fetch as NonNullable<ExportedHandler<Env>['fetch']>)(local as typeof request, env, ctx);
  },
  async queue(batch, env, ctx) {
    // Queues bill operations: each message is read once and deleted once.
    meter.counts(BACKGROUND).queue_ops += 2 * batch.messages.length;
    await handlers.queue?.(batch, env, ctx);
    meter.endQueued(batch.messages.length);
  },
} satisfies ExportedHandler<Env>;
