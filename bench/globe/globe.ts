/** Starts the Worker on the simulated globe (regions with delays between them) and measures operations. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildWorker, ROOT } from '../../dev/local/build.ts';
import { type LocalServer, startLocalServer } from '../../dev/local/local-server.ts';
import { startSmtpSink } from '../../dev/local/smtp-sink.ts';
import { signRequest } from '../../test/support/storage/sigv4-signer.ts';
import { AS_DEPLOYED, BENCH_ROOT_TOKEN, NO_LIMITS, printErrors } from '../shared/servers.ts';
import { FLOOR_PATH, type Floor, PREPARE_PATH } from './floor.ts';
import { BACKGROUND, COMPARISON, type Counts } from './meter.ts';
import { CATCH_UP_PATH, REPLICA_BINDINGS } from './replicas.ts';
import { CLIENT_MS, type Region } from './world.ts';

const IDLE_MS = 400;
const BUNDLE = join(ROOT, 'dist/globe');

export interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
  /** Credential of the call: a key to sign with SigV4, or a bearer token. Default: none. */
  readonly as?: Key | string;
}

/** The calls of one sample, made one after the other. Each may use the answer to the previous one. */
export type Sample = (send: (call: Call) => Promise<{ response: Response; text: string }>) => Promise<void>;

export interface Measuring {
  readonly samples: readonly Sample[];
  /** Runs before each sample. Its cost is not measured. */
  readonly before?: (at: number) => Promise<void>;
  /** The floor of the operation, measured after each sample. */
  readonly floor?: FloorCall;
  /**
   * Runs the work that follows the samples, such as packing and the journal. It is measured as under a steady load: the cost of the
   * same work after one sample is subtracted, because what does not grow with the load is divided by a month's operations.
   */
  readonly after?: () => Promise<void>;
  /**
   * Operations per second of the steady load, for operations whose background work happens at most once a second, whatever the number of
   * requests. Its cost in a second is divided by this number.
   */
  readonly operationsPerSecond?: number;
}

/** Request for a floor. It is signed, so that the client has the same work as for the operation. */
export interface FloorCall {
  readonly floor: Floor;
  readonly body?: Uint8Array<ArrayBuffer>;
}

const NOBODY: Key = { accessKeyId: 'floor', secretAccessKey: 'floor' };

export interface Measured {
  readonly ms: readonly number[];
  /** Milliseconds of the floor, one value per sample; empty without a floor. */
  readonly floorMs: readonly number[];
  /** Share of the samples that queried the primary of DIRECTORY. */
  readonly primaryShare: number;
  /** Counts of the requests and of the background work, each as the sum over all samples. */
  readonly request: Counts;
  readonly background: Counts;
}

export class Globe {
  readonly #server: LocalServer;
  #samples = 0;

  constructor(server: LocalServer) {
    this.#server = server;
  }

  /**
   * Sends one call from a region. If `from` is null, sends it to the twin without simulated distance, so that the measured isolate
   * stays cold.
   */
  async send(from: Region | null, call: Call, trace = 'setup'): Promise<{ response: Response; text: string }> {
    const url = from === null ? this.#server.twinUrl : this.#server.url;
    const { method, path, query = {}, body, as } = call;
    const plain: Record<string, string> = { ...call.headers };
    let target = path + (Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : '');
    let headers = plain;
    if (typeof as === 'string') headers = { ...plain, authorization: `Bearer ${as}` };
    else if (as) ({ target, headers } = signRequest({ url, credentials: as, method, path, query, headers: plain }));
    const about: Record<string, string> = from === null ? {} : { 'x-globe-region': from, 'x-globe-trace': trace };
    const response = await fetch(url + target, {
      method,
      headers: { ...headers, ...about },
      ...(body ? { body } : {}),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${bytes}`);
    // Decoded if it is read: random bytes take far longer than those of the floor, which is no time of the service.
    const toText = () => bytes.toString();
    return {
      response,
      get text() {
        return toText();
      },
    };
  }

  /** Calls a JSON API as root, or with a token, without simulated distance. */
  // biome-ignore lint/suspicious/noExplicitAny: the answer of any route
  async setup(method: string, path: string, body?: object, as = BENCH_ROOT_TOKEN): Promise<any> {
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const { text } = await this.send(null, { method, path, as, ...json });
    return text === '' ? null : JSON.parse(text);
  }

  async #take(): Promise<Record<string, Counts>> {
    return (await (await fetch(`${this.#server.url}/__globe/take`)).json()) as Record<string, Counts>;
  }

  /** Waits until queues and alarms have done their work. */
  async settle(): Promise<void> {
    for (;;) {
      const { ms } = (await (await fetch(`${this.#server.url}/__globe/idle`)).json()) as { ms: number };
      if (ms >= IDLE_MS) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Packs all small objects immediately. Production packs them within a day. */
  async pack(): Promise<void> {
    const body = JSON.stringify({ pack: true });
    const headers = { 'content-type': 'application/json' };
    await this.send('iad', { method: 'POST', path: '/v1/storage/gc', as: BENCH_ROOT_TOKEN, headers, body }, 'after');
  }

  /** Runs cron once and waits until its work is done. */
  async maintain(): Promise<void> {
    await this.#server.runCron('* * * * *');
    await this.settle();
  }

  async measure(from: Region, { samples, before, floor, after, operationsPerSecond }: Measuring): Promise<Measured> {
    if (after && samples.length < 3) throw new Error('background work needs three samples or more');
    if (after) await this.#background(after);
    if (floor) await this.#sendFloor(from, floor);
    await this.settle();
    await fetch(this.#server.url + CATCH_UP_PATH);
    await this.#take();
    const startedAt = performance.now();
    const ms: number[] = [];
    const floorMs: number[] = [];
    const taken: Record<string, Counts>[] = [];
    const work: Counts[] = [];
    /** Ends a part of the samples: reads its counts, and does the work that follows it. */
    const endPart = async () => {
      await this.settle();
      taken.push(await this.#take());
      work.push(after ? await this.#background(after) : combine([]));
    };
    for (const [at, sample] of samples.entries()) {
      await before?.(at);
      const trace = `sample-${this.#samples++}`;
      ms.push(await timed((send) => sample((call) => send(() => this.send(from, call, trace)))));
      if (floor) floorMs.push(await timed((send) => send(() => this.#sendFloor(from, floor))));
      if (at === 0 && after) await endPart();
    }
    await endPart();
    const seconds = (performance.now() - startedAt) / 1000;
    const traces = taken.flatMap((each) => Object.entries(each)).filter(([name]) => name.startsWith('sample-'));
    const parts = taken.map((each, part) => combine([each[BACKGROUND], work[part]].filter((one) => one !== undefined)));
    const [first, others] = parts;
    const load = operationsPerSecond ?? samples.length / seconds;
    const background =
      first && others
        ? toSteady(first, others, samples.length)
        : scale(combine(parts), samples.length / seconds / load);
    const requests = traces.map(([, each]) => each);
    // A stall of the machine can only add a serial round trip, by separating calls that start together. So the minimum over the
    // samples is right.
    const trips = Math.min(...requests.map(({ long_haul_serial }) => long_haul_serial));
    return {
      ms,
      floorMs,
      primaryShare: requests.filter(({ directory_primary }) => directory_primary > 0).length / samples.length,
      request: { ...combine(requests), long_haul_serial: trips * requests.length },
      background,
    };
  }

  async #sendFloor(from: Region, { floor, body }: FloorCall): Promise<void> {
    const method = body ? 'PUT' : 'GET';
    await this.send(from, { method, path: FLOOR_PATH + floor, as: NOBODY, ...(body ? { body } : {}) }, 'floor');
  }

  /** Makes the Worker create the data that the floors read. */
  async prepareFloors(from: Region): Promise<void> {
    await this.send(from, { method: 'PUT', path: PREPARE_PATH, as: NOBODY });
  }

  async #background(work: () => Promise<void>): Promise<Counts> {
    await this.settle();
    await this.#take();
    await work();
    await this.settle();
    const { [COMPARISON]: _, ...counts } = await this.#take();
    return combine(Object.values(counts));
  }
}

type Timed = <T>(call: () => Promise<T>) => Promise<T>;
/** Measures a sample. @returns milliseconds, including the round trips between the client of each call and the data centre. */
async function timed(work: (send: Timed) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let calls = 0;
  await work((call) => {
    calls++;
    return call();
  });
  return performance.now() - startedAt + CLIENT_MS * calls;
}

type Numbers = Omit<Counts, 'calls'>;
type Calls = Counts['calls'];
const NAMES = [
  'rows_read',
  'rows_written',
  'r2_a',
  'r2_b',
  'do_requests',
  'queue_ops',
  'log_lines',
  'events',
  'directory_primary',
  'long_haul_serial',
] as const satisfies readonly (keyof Numbers)[];

function combine(all: readonly Counts[]): Counts {
  const sums = NAMES.map((name) => [name, all.reduce((total, each) => total + each[name], 0)]);
  const calls: Calls = {};
  for (const each of all)
    for (const [name, count] of Object.entries(each.calls)) calls[name] = (calls[name] ?? 0) + count;
  return { ...(Object.fromEntries(sums) as Numbers), calls };
}

/** @returns the cost of the background work of all samples, from that of the first sample and that of the others. */
function toSteady(first: Counts, others: Counts, samples: number): Counts {
  return scale(subtract(others, first), samples / (samples - 2));
}

function scale({ calls, ...rest }: Counts, share: number): Counts {
  const all = <T extends object>(counts: T): T =>
    Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, (count as number) * share])) as T;
  return { ...all(rest), calls: all(calls) };
}

function subtract(from: Counts, what: Counts): Counts {
  const rest = NAMES.map((name) => [name, Math.max(0, from[name] - what[name])]);
  const calls = Object.entries(from.calls).map(([name, count]) => [name, count - (what.calls[name] ?? 0)] as const);
  return {
    ...(Object.fromEntries(rest) as Numbers),
    calls: Object.fromEntries(calls.filter(([, count]) => count > 0)),
  };
}

/** @param shards parts of a board; '' for the default number. */
export async function withGlobe(shards: string, work: (globe: Globe) => Promise<void>): Promise<void> {
  for (const name of ['worker', 'twin'])
    buildWorker(join(BUNDLE, name), { main: join(ROOT, `bench/globe/${name}.ts`) });
  const directory = mkdtempSync(join(tmpdir(), 'tessera-globe-'));
  const sink = await startSmtpSink({ host: '127.0.0.1', port: 0, directory: join(directory, 'sink') });
  const server = await startLocalServer({
    host: '127.0.0.1',
    port: 0,
    stateDirectory: join(directory, 'state'),
    scriptPath: join(BUNDLE, 'worker/worker.js'),
    withTwin: true,
    twinScriptPath: join(BUNDLE, 'twin/twin.js'),
    directoryCopies: REPLICA_BINDINGS,
    withoutCron: true,
    printLog: printErrors,
    rateLimits: NO_LIMITS,
    vars: {
      ...AS_DEPLOYED,
      ROOT_TOKEN: BENCH_ROOT_TOKEN,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      MAIL_DOMAINS: 'example.test',
      REGISTRATION: 'open',
      MAIL_HOLD_SECONDS: '0',
      MAIL_TRANSPORT: `smtp://127.0.0.1:${sink.port}`,
      LEADERBOARD_SHARDS: shards,
    },
  });
  try {
    const globe = new Globe(server);
    // Measure the state after the first minute of a deployment: the shards know the generation of identity.
    await globe.maintain();
    await globe.prepareFloors('syd');
    await work(globe);
  } finally {
    await server.stop();
    await sink.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
