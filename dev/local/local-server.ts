/**
 * Runs the built Worker under Miniflare on a direct socket, with the configuration of `wrangler.toml`. Unlike the proxy of
 * `wrangler dev`, the socket leaves paths, headers and bodies unchanged.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare';
import { applyMigrations } from '../deploy/d1-migrations.ts';
import { listDatabases } from '../deploy/numbered-databases.ts';
import { ROOT, WORKER_BUNDLE } from './build.ts';
import { readCommit } from './commit.ts';
import { claimLocalState, readMigrations } from './local-state.ts';
import { readWorkerOptions, type WorkerOptions } from './worker-options.ts';

export interface LocalServerOptions {
  readonly host: string;
  readonly port: number;
  /** Directory for the files of R2, D1 and Durable Objects. */
  readonly stateDirectory: string;
  /** Variables and secrets of the Worker. They override those of wrangler.toml. */
  readonly vars: Readonly<Record<string, string>>;
  /** Number of `OBJECTS_n` databases to bind. Default: as in wrangler.toml. */
  readonly objectShards?: number;
  /** Number of user databases to bind, `DIRECTORY` included. Default: 1. */
  readonly directories?: number;
  /** Limits that override those of wrangler.toml, by rate-limiter binding. Tests set low limits, which they can reach. */
  readonly rateLimits?: Readonly<Record<string, number>>;
  /** Path of a script to run instead of the built Worker, with the same bindings. Benchmarks run their floor this way. */
  readonly scriptPath?: string;
  /** Additional Workers, as Miniflare options. They reach the Worker under test by the name `tessera`. */
  readonly beside?: readonly Record<string, unknown>[];
  /** Runs the built Worker a second time on the same stores and objects, for callers that must not warm the first one. */
  readonly withTwin?: boolean;
  /** Path of a script for that second Worker instead of the built one. */
  readonly twinScriptPath?: string;
  /** Path of a script whose object classes are used instead of the Worker's own: objects of another version. */
  readonly objectsScriptPath?: string;
  /** Names of additional databases with the tables of DIRECTORY, which serve as its replicas. */
  readonly directoryCopies?: readonly string[];
  /** Prints a line of the Workers' log. Default: prints it unchanged. */
  readonly printLog?: (message: string) => void;
  /** Port of the inspector (Chrome DevTools Protocol). Default: none. */
  readonly inspectorPort?: number;
  /** Disables the server's own cron. The caller then runs it with `runCron`. */
  readonly withoutCron?: boolean;
}

export interface LocalServer {
  readonly url: string;
  readonly miniflare: Miniflare;
  /** URL of the second Worker. Empty without `withTwin`. */
  readonly twinUrl: string;
  /** Runs one cron event and waits until it ends. */
  runCron(cron: string): Promise<void>;
  stop(): Promise<void>;
}

const WORKER_NAME = 'tessera';
const TWIN_NAME = 'tessera-twin';
const OBJECTS_NAME = 'tessera-objects';
/**
 * A separate Worker serves the static assets through the ASSETS binding. If they were bound to the Worker itself, Miniflare would
 * send every request through its assets router, which takes four times as long as a small request.
 */
const ASSETS_WORKER_NAME = 'tessera-assets';

export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const stateDirectory = resolve(options.stateDirectory);
  const refusal = claimLocalState(stateDirectory);
  if (refusal !== null) throw new Error(refusal);
  const { assets, ...workerOptions } = await readWorkerOptions();
  const d1Databases = addDatabases(workerOptions.d1Databases, options);
  for (const binding of options.directoryCopies ?? []) d1Databases[binding] = { id: binding.toLowerCase() };
  const ratelimits = { ...workerOptions.ratelimits };
  for (const [binding, limit] of Object.entries(options.rateLimits ?? {})) {
    ratelimits[binding] = { ...ratelimits[binding], simple: { ...ratelimits[binding]?.simple, limit } };
  }
  await migrate(d1Databases, stateDirectory);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: options.host,
      port: 0,
      log: new Log(LogLevel.ERROR),
      ...(options.printLog ? { handleStructuredLogs: toLogHandler(options.printLog) } : {}),
      unsafeTriggerHandlers: true,
      ...(options.inspectorPort === undefined ? {} : { inspectorPort: options.inspectorPort }),
      resourcePersistencePath: stateDirectory,
      workers: [
        ...listWorkers(options, { ...workerOptions, d1Databases, ratelimits }),
        {
          name: ASSETS_WORKER_NAME,
          modules: true,
          script: 'export default { fetch: () => new Response(null, { status: 404 }) };',
          compatibilityDate: workerOptions.compatibilityDate,
          assets: { ...assets, run_worker_first: false, routerConfig: { has_user_worker: false } },
        },
        ...(options.beside ?? []),
      ] as Record<string, unknown>[],
    } as unknown as Parameters<typeof convertV4MiniflareOptions>[0]),
  );
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL(WORKER_NAME);
  const stopCron = options.withoutCron
    ? () => {}
    : startCron(miniflare, toCronPeriod(options.vars.LIFECYCLE_DAY_SECONDS));
  return {
    url: url.origin,
    miniflare,
    twinUrl: options.withTwin ? (await miniflare.unsafeGetDirectURL(TWIN_NAME)).origin : '',
    runCron: (cron) => runCron(miniflare, cron, new Date()),
    async stop() {
      stopCron();
      await miniflare.dispose();
    },
  };
}

/** The Worker under test, and the one with its objects and its twin if the options ask for them. */
function listWorkers(
  options: LocalServerOptions,
  workerOptions: Pick<WorkerOptions, 'bindings' | 'durableObjects'> & Record<string, unknown>,
): Record<string, unknown>[] {
  const scriptPath = options.scriptPath ?? join(WORKER_BUNDLE, 'index.js');
  // Miniflare's own version metadata has no tag.
  const version = { id: 'local', tag: readCommit() ?? '', timestamp: '' };
  const toWorker = (name: string, script: string, port: number) => ({
    ...workerOptions,
    name,
    modules: readModules(script),
    modulesRoot: dirname(script),
    serviceBindings: { ASSETS: ASSETS_WORKER_NAME },
    versionMetadata: undefined,
    bindings: {
      VERSION: version,
      ...workerOptions.bindings,
      ...options.vars,
      LOCAL: '1',
      LOG_SAMPLE_PERCENT: options.vars.LOG_SAMPLE_PERCENT || '100',
    },
    unsafeDirectSockets: [{ host: options.host, port }],
  });
  /** The object classes of another Worker. */
  const objectsOf = (scriptName: string) =>
    Object.fromEntries(
      Object.entries(workerOptions.durableObjects).map(([binding, to]) => [binding, { ...to, scriptName }]),
    );
  const twin = {
    ...toWorker(TWIN_NAME, options.twinScriptPath ?? join(WORKER_BUNDLE, 'index.js'), 0),
    serviceBindings: { ASSETS: ASSETS_WORKER_NAME, TESSERA: WORKER_NAME },
    durableObjects: objectsOf(WORKER_NAME),
    queueConsumers: undefined,
  };
  const { objectsScriptPath } = options;
  const main = {
    ...toWorker(WORKER_NAME, scriptPath, options.port),
    ...(objectsScriptPath === undefined ? {} : { durableObjects: objectsOf(OBJECTS_NAME) }),
  };
  const objects =
    objectsScriptPath === undefined
      ? []
      : [{ ...toWorker(OBJECTS_NAME, objectsScriptPath, 0), queueConsumers: undefined }];
  return [main, ...objects, ...(options.withTwin ? [twin] : [])];
}

type Databases = Record<string, { id: string }>;

type Totals = Pick<LocalServerOptions, 'objectShards' | 'directories'>;

function addDatabases(
  configured: WorkerOptions['d1Databases'],
  { objectShards = 0, directories = 0 }: Totals,
): Databases {
  const added = [...listDatabases('OBJECTS', objectShards), ...listDatabases('DIRECTORY', directories)];
  return { ...configured, ...Object.fromEntries(added.map(({ binding, name }) => [binding, { id: name }])) };
}

/** Applies the migrations to the databases of wrangler.toml, and to further ones, in a folder of local state. */
export async function migrateLocalStores(stateDirectory: string, totals: Totals = {}): Promise<void> {
  const { d1Databases } = await readWorkerOptions();
  await migrate(addDatabases(d1Databases, totals), stateDirectory);
}

const toLogHandler =
  (print: (message: string) => void) =>
  ({ message }: { message: string }) =>
    print(message);

const MODULE_TYPES: Readonly<Record<string, 'Text' | 'Data' | 'CompiledWasm'>> = {
  '.sql': 'Text',
  '.txt': 'Text',
  '.html': 'Text',
  '.bin': 'Data',
  '.wasm': 'CompiledWasm',
};

/** Reads the script and the modules in its directory, with the module types that wrangler assigns. */
function readModules(scriptPath: string) {
  const directory = dirname(scriptPath);
  const script = { type: 'ESModule' as const, path: scriptPath, contents: readFileSync(scriptPath) };
  const beside = readdirSync(directory).flatMap((name) => {
    const type = MODULE_TYPES[extname(name)];
    return type ? [{ type, path: join(directory, name), contents: readFileSync(join(directory, name)) }] : [];
  });
  return [script, ...beside];
}

/** Applies the migrations in a separate Miniflare instance before the server listens, so that every request finds its tables. */
async function migrate(d1Databases: Databases, stateDirectory: string): Promise<void> {
  const record = join(stateDirectory, 'migrated.json');
  if (existsSync(record) && readFileSync(record, 'utf8') === describeDatabases(d1Databases, stateDirectory)) return;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: '127.0.0.1',
      port: 0,
      resourcePersistencePath: stateDirectory,
      workers: [{ name: WORKER_NAME, modules: true, script: 'export default {};', d1Databases }],
    }),
  );
  try {
    for (const binding of Object.keys(d1Databases)) {
      const database = await miniflare.getD1Database(binding, WORKER_NAME);
      const kind = binding.startsWith('DIRECTORY') ? 'directory' : 'objects';
      await applyMigrations(database as never, join(ROOT, 'migrations', kind));
    }
  } finally {
    await miniflare.dispose();
  }
  writeFileSync(record, describeDatabases(d1Databases, stateDirectory));
}

/**
 * Describes the migrations and the files of the migrated databases as one text, for comparison at the next start. If a file was
 * deleted, its database is migrated again.
 */
function describeDatabases(d1Databases: Databases, stateDirectory: string): string {
  const folder = join(stateDirectory, 'd1');
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  const databases = files.filter((file) => file.endsWith('.sqlite')).sort();
  return JSON.stringify([Object.keys(d1Databases), readMigrations(), databases]);
}

/**
 * Waits for the start by a request instead of `getWorker`. `getWorker` blocks this process while it waits for workerd, and workerd
 * blocks while its log is not read.
 */
async function runCron(miniflare: Miniflare, cron: string, now: Date): Promise<void> {
  const query = new URLSearchParams({ cron, time: String(now.getTime()) });
  const response = await miniflare.dispatchFetch(`http://localhost/cdn-cgi/local/scheduled?${query}`);
  const outcome = await response.text();
  if (outcome !== 'ok') throw new Error(`${cron}: ${outcome}`);
}

const MINUTE_MS = 60_000;

/**
 * Period of cron in milliseconds: a minute, or a tenth of a day of lifecycle rules if a setting shortens that day below 10 minutes.
 */
const toCronPeriod = (daySeconds = ''): number => Math.min(MINUTE_MS, (Number(daySeconds) || 86_400) * 100);

/** Runs cron at each period, because Miniflare has no timer for it. The period is a minute, as in production, or shorter. */
function startCron(miniflare: Miniflare, periodMs: number): () => void {
  let isStopped = false;
  const timer = setInterval(async () => {
    const now = new Date();
    const isDaily = now.getUTCHours() === 3 && now.getUTCMinutes() === 17;
    try {
      await runCron(miniflare, '* * * * *', now);
      if (isDaily) await runCron(miniflare, '17 3 * * *', now);
    } catch (error) {
      // Ignore errors after the server was stopped: stopping it may interrupt a run of cron.
      if (!isStopped) console.error('cron:', error);
    }
  }, periodMs);
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}
