/**
 * Checks the rules of CONTRIBUTING.md about the size of the code and about its state. `npm run check` calls it.
 *
 * Each list of exceptions has its reason in `about`.
 *
 *   --shrink   removes entries of the list of exceptions that are no longer needed, and lowers sizes that fell. Never adds.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../local/build.ts';
import { type Comparison, compare, RULES, readChecked, violationsOf } from './rules.ts';

const LIST = 'test/shared/unit/code-exceptions.json';
const FILES = ['{bridge,workers,durable-objects,web,dev,bench,test}/**/*.{ts,tsx,css}', '*.ts'];
const isGenerated = (file: string): boolean => /\.generated\.|^worker-configuration\.d\.ts$/.test(file);

function report(text: string, { added, stale }: Comparison): void {
  if (added.size + stale.length === 0) return;
  console.error(text);
  for (const [entry, size] of added) console.error(`  not allowed: ${JSON.stringify(entry)}: ${size}`);
  for (const entry of stale) console.error(`  listed in ${LIST}, no longer needed: ${JSON.stringify(entry)}`);
}

const { about, ...lists }: { about: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(join(ROOT, LIST), 'utf8'),
);
const known = lists as Readonly<Record<string, Readonly<Record<string, number>>>>;
const files = FILES.flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  .filter((file) => !isGenerated(file))
  .sort()
  .map((file) => readChecked(file, readFileSync(join(ROOT, file), 'utf8')));
const compared = RULES.map((rule) => ({
  rule,
  comparison: compare(violationsOf(rule, files), known[rule.name] ?? {}),
}));

if (process.argv.includes('--shrink')) {
  const lists = compared.map(({ rule, comparison }) => [rule.name, comparison.shrunk]);
  writeFileSync(join(ROOT, LIST), `${JSON.stringify({ about, ...Object.fromEntries(lists) }, null, 2)}\n`);
}
for (const { rule, comparison } of compared) report(rule.text, comparison);
const unexplained = Object.keys(known).filter((name) => !about[name]);
if (unexplained.length > 0) {
  console.error(`${LIST} gives no reason for: ${unexplained.join(', ')}`);
  process.exitCode = 1;
}
if (compared.some(({ comparison }) => comparison.added.size + comparison.stale.length > 0)) {
  console.error(`\`node dev/rules/check-rules.ts --shrink\` removes entries that are no longer needed.`);
  process.exit(1);
}
