/** `npm run check`: checks types, lint, the rules of CONTRIBUTING.md, generated files and a dry-run deployment in parallel. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './local/build.ts';

const checks: [string, string[]][] = [
  ['tsc', ['-p', '.']],
  ['biome', ['check', '--error-on-warnings', '.']],
  ['node', ['dev/rules/check-rules.ts']],
  ['node', ['dev/generate/generate.ts', '--check']],
  ['wrangler', ['deploy', '--dry-run', '--outdir', 'dist/check']],
];
if (existsSync(join(ROOT, 'web/tsconfig.json'))) checks.push(['tsc', ['-p', 'web']]);

const results = await Promise.all(
  checks.map(
    ([command, args]) =>
      new Promise<boolean>((resolve) => {
        const env = { ...process.env, WRANGLER_SEND_METRICS: 'false' };
        const options = { cwd: ROOT, env, maxBuffer: 1 << 24 };
        execFile(join(ROOT, 'node_modules/.bin', command), args, options, (error, stdout, stderr) => {
          if (error) console.error(`${command} ${args.join(' ')}\n${stdout}${stderr}`);
          resolve(error === null);
        });
      }),
  ),
);
const isPassed = results.every(Boolean);
if (isPassed) console.log('Types, lint, rules, generated files and a dry run of the deployment are correct.');
process.exit(isPassed ? 0 : 1);
