/**
 * `npm run dev`: `wrangler dev` on a clean clone. Creates `.dev.vars` if it is missing, applies the migrations to wrangler's local
 * state, and starts wrangler with the given arguments. SMTP ports and cron run with `npm start` only.
 */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { ROOT } from './build.ts';
import { readDevVars } from './dev-vars.ts';
import { migrateLocalStores } from './local-server.ts';
import { claimLocalState } from './local-state.ts';

const STATE_DIR = resolve(ROOT, process.env.STATE_DIR || '.wrangler/dev');
/** Folder with the stores of wrangler, inside the directory of `--persist-to`. */
const stores = join(STATE_DIR, 'v3');

const refusal = claimLocalState(stores);
if (refusal !== null) {
  console.error(refusal);
  process.exit(1);
}
readDevVars(join(ROOT, '.dev.vars'), join(ROOT, '.dev.vars.example'));
await migrateLocalStores(stores);
const args = [
  'dev',
  '--persist-to',
  STATE_DIR,
  '--var',
  'LOCAL:1',
  '--var',
  'LOG_SAMPLE_PERCENT:100',
  ...process.argv.slice(2),
];
const wrangler = spawn(join(ROOT, 'node_modules/.bin/wrangler'), args, { cwd: ROOT, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => wrangler.kill(signal));
wrangler.once('exit', (status) => process.exit(status ?? 1));
