/** Builds the web app into `dist/assets` and the Worker into `dist/worker`. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
export const WORKER_BUNDLE = join(ROOT, 'dist/worker');

/** Builds everything. Does nothing if `TESSERA_PREBUILT=1`. */
export function buildAll(): void {
  if (process.env.TESSERA_PREBUILT !== '1') buildWorker(WORKER_BUNDLE);
}

interface BuildOptions {
  /** The entry to bundle instead of that of wrangler.toml. */
  readonly main?: string;
  /** Modules to bundle instead of others: paths by the text with which the others are imported. */
  readonly replaced?: Readonly<Record<string, string>>;
}

/** Bundles the Worker into `folder`. Runs `[build]` of wrangler.toml, which builds the web app, as every deployment does. */
export function buildWorker(folder: string, { main, replaced = {} }: BuildOptions = {}): void {
  rmSync(folder, { recursive: true, force: true });
  const aliases = Object.entries(replaced).flatMap(([from, to]) => ['--alias', `${from}:${to}`]);
  const args = ['deploy', ...(main ? [main] : []), '--dry-run', '--outdir', folder, ...aliases];
  execFileSync(join(ROOT, 'node_modules/.bin/wrangler'), args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG: 'error', NODE_ENV: 'production' },
  });
}

if (import.meta.main) buildAll();
