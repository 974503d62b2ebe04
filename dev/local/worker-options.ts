/**
 * Reads what wrangler.toml says about the Worker. Loading wrangler takes two fifths of a start, so its answer is kept in `dist/` until
 * wrangler.toml or wrangler changes.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './build.ts';

const CONFIG = join(ROOT, 'wrangler.toml');
const KEPT = join(ROOT, 'dist/worker-options.json');

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

interface Kept {
  /** Hash of everything that the options depend on. */
  readonly source: string;
  readonly options: WorkerOptions;
}

export async function readWorkerOptions(): Promise<WorkerOptions> {
  const source = createHash('sha256')
    // The options have paths of this folder, which may be a copy of another one.
    .update(ROOT)
    .update(readFileSync(CONFIG))
    .update(readFileSync(join(ROOT, 'node_modules/wrangler/package.json')))
    .update(readFileSync(import.meta.filename))
    .digest('hex');
  const kept = readKept();
  if (kept?.source === source) return kept.options;
  const options = await askWrangler();
  mkdirSync(dirname(KEPT), { recursive: true });
  // Other processes may read the file at the same time.
  const draft = `${KEPT}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ source, options } satisfies Kept));
  renameSync(draft, KEPT);
  return options;
}

/** @returns null if nothing is kept, or only a part, as after a power cut. */
function readKept(): Kept | null {
  try {
    return JSON.parse(readFileSync(KEPT, 'utf8')) as Kept;
  } catch {
    return null;
  }
}

async function askWrangler(): Promise<WorkerOptions> {
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
