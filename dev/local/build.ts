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

/**
 * Bundles the Worker into `folder`. Runs `[build]` of wrangler.toml, which builds the web app, as every deployment does.
 * @param main the entry to bundle instead of that of wrangler.toml
 */
export function buildWorker(folder: string, main?: string): void {
  rmSync(folder, { recursive: true, force: true });
  const args = ['deploy', ...(main ? [main] : []), '--dry-run', '--outdir', folder];
  execFileSync(join(ROOT, 'node_modules/.bin/wrangler'), args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG: 'error', NODE_ENV: 'production' },
  });
}

if (import.meta.main) buildAll();
