/** Builds what the server runs: the web app into `dist/assets`, the Worker into `dist/worker`. Skipped when `TESSERA_PREBUILT=1`. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
export const WORKER_BUNDLE = join(ROOT, 'dist/worker');

const run = (command: string, ...args: string[]) =>
  execFileSync(join(ROOT, 'node_modules/.bin', command), args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG: 'error', NODE_ENV: 'production' },
  });

export function buildWebApp(): void {
  if (process.env.TESSERA_PREBUILT === '1') return;
  mkdirSync(join(ROOT, 'dist/assets/_'), { recursive: true });
  if (existsSync(join(ROOT, 'web/build.ts'))) run('node', 'web/build.ts');
}

export function buildWorker(): void {
  if (process.env.TESSERA_PREBUILT === '1') return;
  mkdirSync(join(ROOT, 'dist/assets/_'), { recursive: true });
  rmSync(WORKER_BUNDLE, { recursive: true, force: true });
  run('wrangler', 'deploy', '--dry-run', '--outdir', WORKER_BUNDLE);
}

export function buildAll(): void {
  buildWebApp();
  buildWorker();
}

if (import.meta.main) buildAll();
