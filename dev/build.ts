/** Builds the web app into `dist/assets` and the Worker into `dist/worker`. Does nothing if `TESSERA_PREBUILT=1`. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
export const WORKER_BUNDLE = join(ROOT, 'dist/worker');

/** Runs `[build]` of wrangler.toml, which builds the web app, as every deployment does. */
export function buildAll(): void {
  if (process.env.TESSERA_PREBUILT === '1') return;
  rmSync(WORKER_BUNDLE, { recursive: true, force: true });
  execFileSync(join(ROOT, 'node_modules/.bin/wrangler'), ['deploy', '--dry-run', '--outdir', WORKER_BUNDLE], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG: 'error', NODE_ENV: 'production' },
  });
}

if (import.meta.main) buildAll();
