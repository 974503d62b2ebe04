/**
 * `npm run test:mutants`: changes one operator, condition or constant of a `domain/` file at a time and runs the unit tests
 * that reach it. Fails if a folder keeps too many mutants alive, or if a strict folder keeps one that is not explained.
 *
 *   --folder <text>       only folders whose path contains the text
 *   --file <text>         only files whose name contains the text
 *   --tests <glob>        only these unit tests, for each time that it is given. Much faster; kills by others are not seen
 *   --concurrency <n>     test processes, 2 by default
 *   --seeded              the faults of `seeded-faults.ts` instead, which are anywhere in the product
 *   --fresh               with `--seeded`: the faults of `fresh-faults.ts`, which were made without knowledge of the tests
 *   --id <id>             only this seeded fault, for each time that it is given
 *
 * Mutants of texts, regular expressions, object and array literals and whole blocks are left out: most of them change a
 * message or do not compile. A kill by time-out counts. Random tests use one seed, so a run can be repeated.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { EQUIVALENT_MUTANTS } from './equivalent-mutants.ts';
import { FRESH_FAULTS } from './fresh-faults.ts';
import { addNumberMutator } from './number-mutator.ts';
import { runSeeded } from './seeded.ts';
import { SEEDED_FAULTS } from './seeded-faults.ts';

const ROOT = join(import.meta.dirname, '../..');
const KILLED_PERCENT_MIN = 90;
/** Folders that decide access. Each surviving mutant in them must be explained in `equivalent-mutants.ts`. */
const STRICT_FOLDERS = ['workers/identity/domain', 'workers/storage/domain'];
const EXCLUDED_MUTATIONS = [
  'ArrayDeclaration',
  'ArrowFunction',
  'BlockStatement',
  'MethodExpression',
  'ObjectLiteral',
  'Regex',
  'StringLiteral',
];

interface Survivor {
  readonly folder: string;
  readonly file: string;
  readonly line: number;
  /** The original source at the mutant, and its replacement. */
  readonly from: string;
  readonly to: string;
  readonly isEquivalent: boolean;
}

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: '' },
    file: { type: 'string', default: '' },
    tests: { type: 'string', multiple: true },
    concurrency: { type: 'string', default: '2' },
    seeded: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    id: { type: 'string', multiple: true, default: [] },
  },
});
if (values.seeded) process.exit(runSeeded(values.fresh ? FRESH_FAULTS : SEEDED_FAULTS, values.id) ? 0 : 1);
const allFolders = globSync('{workers,durable-objects,web}/**/domain', { cwd: ROOT }).sort();
const folders = allFolders.filter((folder) => folder.includes(values.folder));
const mutated = folders
  .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: ROOT }))
  .filter((file) => basename(file).includes(values.file));
if (mutated.length === 0) {
  console.error(`No file of a domain folder matches. Folders:\n${allFolders.join('\n')}`);
  process.exit(2);
}

process.chdir(ROOT);
process.env.SEED = '20260101';
process.env.TESSERA_MUTANTS = '1';
if (values.tests) process.env.TESSERA_MUTANT_TESTS = JSON.stringify(values.tests);
await addNumberMutator(ROOT);
const concurrency = Number(values.concurrency);
console.log(
  `Mutating ${mutated.length} files of ${folders.join(', ')} in ${concurrency} processes. All folders take about an hour on two cores.`,
);
const results = await new Stryker({
  testRunner: 'vitest',
  // With `--tests`, turn off Stryker's search for related tests: for each mutant it takes longer than the tests.
  vitest: { configFile: 'test/mutants/vitest.config.ts', related: values.tests === undefined },
  // Skip tsconfig.json: Stryker would rewrite its project references with an API that TypeScript 7 lacks, and there are none.
  tsconfigFile: 'none',
  mutate: mutated,
  mutator: { plugins: null, excludedMutations: EXCLUDED_MUTATIONS },
  concurrency,
  reporters: ['progress-append-only'],
  tempDirName: `dist/mutants-${process.pid}`,
  ignorePatterns: ['dist', 'web', '.wrangler', 'bench'],
}).runMutationTest();

const sources = new Map<string, readonly string[]>();
const linesOf = (fileName: string): readonly string[] => {
  const lines = sources.get(fileName) ?? readFileSync(fileName, 'utf8').split('\n');
  sources.set(fileName, lines);
  return lines;
};
const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

const tested = results.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError');
/** Statuses that count as killed. A test run that fails while files load detects the mutant too. */
const KILLED = ['Killed', 'Timeout', 'RuntimeError'];
const folderOf = (fileName: string): string =>
  folders.find((folder) => relative(ROOT, fileName).startsWith(`${folder}/`)) ?? '';
const usedExplanations = new Set<string>();
const survivors: Survivor[] = [];
for (const { fileName, location, replacement, status } of tested) {
  if (KILLED.includes(status)) continue;
  const { start, end } = location;
  const lines = linesOf(fileName).slice(start.line - 1, end.line);
  lines[lines.length - 1] = lines.at(-1)?.slice(0, end.column - 1) ?? '';
  lines[0] = lines[0]?.slice(start.column - 1) ?? '';
  const file = relative(ROOT, fileName);
  const [from, to] = [oneLine(lines.join('\n')), oneLine(replacement)];
  const text = oneLine(linesOf(fileName)[start.line - 1] ?? '');
  const explanation = EQUIVALENT_MUTANTS.find(
    (known) => known.file === file && known.from === from && known.to.includes(to) && text.includes(known.line),
  );
  if (explanation) usedExplanations.add(JSON.stringify(explanation));
  survivors.push({
    folder: folderOf(fileName),
    file,
    line: start.line,
    from,
    to,
    isEquivalent: explanation !== undefined,
  });
}

for (const { file, line, from, to, isEquivalent } of survivors) {
  console.log(`${isEquivalent ? 'equivalent' : 'SURVIVED'} ${file}:${line}  ${from}  =>  ${to}`);
}
let isGood = true;
for (const folder of folders) {
  const total = tested.filter(({ fileName }) => folderOf(fileName) === folder).length;
  const alive = survivors.filter((survivor) => survivor.folder === folder);
  const unexplained = alive.filter(({ isEquivalent }) => !isEquivalent);
  const percent = total === 0 ? 100 : (100 * (total - alive.length)) / total;
  const isFolderGood = percent >= KILLED_PERCENT_MIN && (!STRICT_FOLDERS.includes(folder) || unexplained.length === 0);
  isGood &&= isFolderGood;
  const counts = `${total - alive.length} of ${total} killed (${percent.toFixed(1)} %), ${unexplained.length} survived unexplained`;
  console.log(`${isFolderGood ? 'ok  ' : 'FAIL'} ${folder}: ${counts}`);
}
for (const known of EQUIVALENT_MUTANTS) {
  if (!mutated.includes(known.file) || usedExplanations.has(JSON.stringify(known))) continue;
  console.log(`FAIL equivalent-mutants.ts explains a mutant that does not survive: ${known.file}  ${known.from}`);
  isGood = false;
}
process.exit(isGood ? 0 : 1);
