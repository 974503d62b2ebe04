/**
 * `npm run bench -- processor [operation...]`: processor time of a request, beside a bare Worker that makes the same calls of bindings.
 *
 * Processor time is the user and system time of the server's workerd, divided by the completed requests. It contains Miniflare's
 * simulators of R2 and D1. Tessera and its floor are separate processes, loaded in alternating rounds. The result is the median over the
 * rounds, and the median and the range of the ratios of adjacent rounds. `cold` is the first JSON request of a new process.
 *
 * `--before=FOLDER` measures a second build of the Worker, a copy of an earlier `dist/worker`, in the same rounds. `--rounds=n` and
 * `--seconds=n` set the number and the length of the rounds. `PROFILE_PORT=9229` prints a profile of the Worker for one operation instead.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFiller } from '../mail/fill-mailbox.ts';
import { profileWhile } from '../shared/cpu-profile.ts';
import { median } from '../shared/load.ts';
import {
  AS_DEPLOYED,
  BENCH_ROOT_TOKEN,
  type BenchServer,
  NO_LIMITS,
  printErrors,
  startMeasured,
} from '../shared/servers.ts';
import { applyCalls, type Call } from './client.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { fillFloor, fillWorld, type World } from './world.ts';

const WARM_UP_SECONDS = 4;
const COLD = 'cold';
const COLD_STARTS = 5;
const COLD_TARGET_MS = 100;
/** Time without work after a start, in milliseconds, before the first request. */
const IDLE_MS = 500;
const PROFILE_PORT = Number(process.env.PROFILE_PORT ?? 0);

interface Side {
  readonly name: string;
  readonly server: BenchServer;
  readonly calls: (operation: Operation) => () => Call;
  readonly settle: (operation: Operation) => Promise<void>;
}

interface SideOptions {
  readonly stateDirectory: string;
  /** Path of the Worker's script. Default: the built Worker. */
  readonly scriptPath?: string;
  readonly inspectorPort?: number;
}

const start = ({ stateDirectory, ...rest }: SideOptions, withFiller: boolean): Promise<BenchServer> =>
  startMeasured({
    host: '127.0.0.1',
    port: 0,
    printLog: printErrors,
    withoutCron: true,
    rateLimits: { ...NO_LIMITS, RATE_LIMIT_SCORES: 1_000_000_000, RATE_LIMIT_INBOUND: 1_000_000_000 },
    vars: {
      ...AS_DEPLOYED,
      ROOT_TOKEN: BENCH_ROOT_TOKEN,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      MAIL_DOMAINS: 'example.test',
      REGISTRATION: 'open',
      LEADERBOARD_SHARDS: '4',
      EDGE_CACHE_SECONDS: '0',
    },
    ...(withFiller ? { beside: [createFiller()] } : {}),
    stateDirectory,
    ...rest,
  });

async function startTessera(name: string, operations: readonly Operation[], options: SideOptions): Promise<Side> {
  const server = await start(options, true);
  const world: World = await fillWorld(server, new Set(operations.map(({ product }) => product)));
  return {
    name,
    server,
    calls: ({ ours }) => ours(world),
    settle: async ({ settle }) => settle?.(server),
  };
}

async function startFloor(stateDirectory: string): Promise<Side> {
  const server = await start({ stateDirectory, scriptPath: join(import.meta.dirname, 'floor.js') }, false);
  await fillFloor(server);
  return { name: 'floor', server, calls: ({ floor }) => floor, settle: async () => {} };
}

/** Loads a side for a round. @returns processor time per completed request, in milliseconds. */
async function measure(side: Side, operation: Operation, seconds: number): Promise<number> {
  const before = side.server.processorMs();
  const { connections } = operation;
  const { completed, failed } = await applyCalls(side.server.url, {
    connections,
    seconds,
    next: side.calls(operation),
  });
  if (failed > 0) throw new Error(`${operation.name}: ${failed} of ${completed} requests of ${side.name} failed`);
  await side.settle(operation);
  return (side.server.processorMs() - before) / completed;
}

const show = (ms: number): string => ms.toFixed(ms < 1 ? 3 : 2);
const range = (values: readonly number[]): string =>
  `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`;

/** @param sides the floor first. */
async function compare(sides: readonly Side[], operation: Operation, rounds: number, seconds: number): Promise<void> {
  const times = new Map<string, number[]>(sides.map(({ name }) => [name, []]));
  for (const side of sides) await measure(side, operation, WARM_UP_SECONDS);
  for (let round = 0; round < rounds; round++)
    for (const side of sides) times.get(side.name)?.push(await measure(side, operation, seconds));
  const [floor = [], ...others] = times.values();
  const names = [...times.keys()].slice(1);
  const ratios = (of: readonly number[], to: readonly number[]) => of.map((ms, at) => ms / (to[at] ?? Number.NaN));
  const cells = others.map((all, at) =>
    `${names[at]} ${show(median(all))} ms, ratio ${range(ratios(all, floor))}`.padEnd(44),
  );
  const [earlier, now] = others;
  const change = earlier && now ? `after/before ${range(ratios(now, earlier))}` : '';
  const promise = operation.target === undefined ? '' : `target ${operation.target}`;
  const floorCell = `floor ${show(median(floor))} ms`.padEnd(16);
  console.log([operation.name.padEnd(12), floorCell, ...cells, change, promise].join('  ').trimEnd());
}

/** Measures the first JSON request of a new process, which evaluates the modules that the start did not. */
async function measureCold(sides: Readonly<Record<string, SideOptions>>): Promise<void> {
  const times = new Map<string, number[]>();
  for (let at = 0; at < COLD_STARTS; at++) {
    for (const [name, options] of Object.entries(sides)) {
      const server = await start(options, false);
      await sleep(IDLE_MS);
      const before = server.processorMs();
      await (await fetch(`${server.url}/v1/scores`)).arrayBuffer();
      times.set(name, [...(times.get(name) ?? []), server.processorMs() - before]);
      await server.stop();
    }
  }
  const cells = [...times].map(([name, all]) => `${name} ${median(all)} ms (${Math.min(...all)}–${Math.max(...all)})`);
  console.log(`${COLD.padEnd(12)}  ${cells.join('  ')}  target ${COLD_TARGET_MS} ms`);
}

async function profile(side: Side, operation: Operation, seconds: number): Promise<void> {
  await measure(side, operation, WARM_UP_SECONDS);
  let ms = 0;
  await profileWhile(PROFILE_PORT, async () => {
    ms = await measure(side, operation, seconds);
  });
  console.log(`${operation.name}: ${show(ms)} ms per request while the profiler ran`);
}

export async function run(options: readonly string[]): Promise<void> {
  const optionOf = (name: string) => options.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
  const names = options.filter((each) => !each.startsWith('--'));
  const unknown = names.find((name) => name !== COLD && !OPERATIONS.some((each) => each.name === name));
  if (unknown !== undefined)
    throw new Error(`no operation ${unknown}: ${[...OPERATIONS.map(({ name }) => name), COLD].join(', ')}`);
  const operations = OPERATIONS.filter(({ name }) => names.length === 0 || names.includes(name));
  const [rounds, seconds] = [Number(optionOf('rounds') ?? 5), Number(optionOf('seconds') ?? 2)];
  const before = optionOf('before');
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-processor-'));
  const stateOf = (name: string) => ({ stateDirectory: join(directory, name) });
  const sideOptions: Readonly<Record<string, SideOptions>> = {
    ...(before === undefined ? {} : { before: { ...stateOf('before'), scriptPath: resolve(before, 'index.js') } }),
    tessera: { ...stateOf('tessera'), ...(PROFILE_PORT === 0 ? {} : { inspectorPort: PROFILE_PORT }) },
  };
  const sides: Side[] = [];
  try {
    if (operations.length > 0) {
      if (PROFILE_PORT === 0) sides.push(await startFloor(stateOf('floor').stateDirectory));
      for (const [name, each] of Object.entries(sideOptions)) sides.push(await startTessera(name, operations, each));
    }
    for (const operation of operations) {
      const last = sides.at(-1);
      if (PROFILE_PORT !== 0 && last) await profile(last, operation, seconds);
      else await compare(sides, operation, rounds, seconds);
    }
    if (names.length === 0 || names.includes(COLD))
      await measureCold({
        floor: { ...stateOf('cold-floor'), scriptPath: join(import.meta.dirname, 'floor.js') },
        ...coldOptions(sideOptions, directory),
      });
  } finally {
    for (const { server } of sides) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The same builds with empty stores of their own. */
const coldOptions = (sides: Readonly<Record<string, SideOptions>>, directory: string): Record<string, SideOptions> =>
  Object.fromEntries(
    Object.entries(sides).map(([name, each]) => [name, { ...each, stateDirectory: join(directory, `cold-${name}`) }]),
  );
