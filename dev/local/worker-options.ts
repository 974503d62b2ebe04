/**
 * Reads what wrangler.toml says about the Worker. Loading wrangler takes two fifths of a start and most of a refused deployment, so its
 * answers are kept in `dist/` until wrangler.toml or wrangler changes.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './build.ts';

const CONFIG = join(ROOT, 'wrangler.toml');

/** Options of the Worker for Miniflare. */
export interface WorkerOptions {
  /** The variables of wrangler.toml, without secrets. */
  readonly bindings: Readonly<Record<string, string>>;
  readonly d1Databases: Readonly<Record<string, { id: string }>>;
  readonly durableObjects: Readonly<Record<string, object>>;
  readonly ratelimits: Readonly<Record<string, { simple: object }>>;
  readonly compatibilityDate: string;
  readonly assets: object;
  readonly [option: string]: unknown;
}

interface Kept<T> {
  /** Hash of everything that the answer depends on. */
  readonly source: string;
  readonly answer: T;
}

export const readWorkerOptions = keep('worker-options', askWorkerOptions);

/** The configuration as wrangler.toml has it, with the tables and names of the file. */
export const readRawConfig = keep('raw-config', askRawConfig);

/** @returns a function that reads the answer of `ask` from `dist/`, and asks only if none is kept for the present source. */
function keep<T>(name: string, ask: () => Promise<T>): () => Promise<T> {
  const path = join(ROOT, `dist/${name}.json`);
  return async () => {
    const source = hashSource();
    const kept = readKept<T>(path);
    if (kept?.source === source) return kept.answer;
    const answer = await ask();
    mkdirSync(dirname(path), { recursive: true });
    // Other processes may read the file at the same time.
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, JSON.stringify({ source, answer } satisfies Kept<T>));
    renameSync(draft, path);
    return answer;
  };
}

const hashSource = (): string =>
  createHash('sha256')
    // The options have paths of this folder, which may be a copy of another one.
    .update(ROOT)
    .update(readFileSync(CONFIG))
    .update(readFileSync(join(ROOT, 'node_modules/wrangler/package.json')))
    .update(readFileSync(import.meta.filename))
    .digest('hex');

/** @returns null if nothing is kept, or only a part, as after a power cut. */
function readKept<T>(path: string): Kept<T> | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Kept<T>;
  } catch {
    return null;
  }
}

async function askRawConfig(): Promise<Record<string, unknown>> {
  const { experimental_readRawConfig } = await import('wrangler');
  return experimental_readRawConfig({ config: CONFIG }).rawConfig as Record<string, unknown>;
}

async function askWorkerOptions(): Promise<WorkerOptions> {
  const { unstable_getMiniflareWorkerOptions, unstable_readConfig } = await import('wrangler');
  const level = process.env.WRANGLER_LOG;
  // Hide warnings of wrangler: it reports missing secrets, but the caller supplies them.
  process.env.WRANGLER_LOG ??= 'error';
  try {
    const { workerOptions } = unstable_getMiniflareWorkerOptions(CONFIG);
    const { vars } = unstable_readConfig({ config: CONFIG });
    // Wrangler adds the secrets of its environment, which must not be kept.
    return JSON.parse(JSON.stringify({ ...workerOptions, bindings: vars })) as WorkerOptions;
  } finally {
    // Wrangler itself may be started next. It must say when it is ready.
    if (level === undefined) delete process.env.WRANGLER_LOG;
  }
}
