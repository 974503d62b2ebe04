/** `npm run check`: checks types, lint, the rules of CONTRIBUTING.md, generated files and a dry-run deployment with the Worker's size in parallel. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './local/build.ts';
import { findSizeProblem } from './worker-size.ts';

/**
 * Checks types. What was found is kept for the next check, which then checks only changed files and those that depend on them. More
 * than two checkers would each repeat a part of the work of the others.
 */
const checkTypes = (project: string, kept: string): [string, string[]] => [
  'tsc',
  ['-p', project, '--checkers', '2', '--incremental', '--tsBuildInfoFile', `dist/types/${kept}.tsbuildinfo`],
];

const BUNDLE = 'dist/check';
const checks: [string, string[]][] = [
  checkTypes('.', 'all'),
  ['biome', ['check', '--error-on-warnings', '.']],
  ['node', ['dev/rules/check-rules.ts']],
  ['node', ['dev/generate/generate.ts', '--check']],
  ['wrangler', ['deploy', '--dry-run', '--outdir', BUNDLE]],
];
if (existsSync(join(ROOT, 'web/tsconfig.json'))) checks.push(checkTypes('web', 'web'));

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
const isBuilt = results.every(Boolean);
const sizeProblem = isBuilt ? findSizeProblem(join(ROOT, BUNDLE)) : null;
if (sizeProblem !== null) console.error(sizeProblem);
const isPassed = isBuilt && sizeProblem === null;
if (isPassed) console.log('Types, lint, rules, generated files and a dry run of the deployment are correct.');
process.exit(isPassed ? 0 : 1);
