/** The rules of CONTRIBUTING.md about the size of the code and about its state. */
import { functionsOf, type NamedFunction } from './functions.ts';
import { moduleStateOf } from './module-state.ts';
import { parameterWritesOf } from './parameter-writes.ts';
import { selectStarsOf } from './select-star.ts';
import { parseSource, type Source } from './source.ts';

/** A file to check. Style sheets have no syntax tree here. */
export interface CheckedFile {
  readonly file: string;
  readonly text: string;
  readonly source: Source | null;
  readonly functions: readonly NamedFunction[];
}

export function readChecked(file: string, text: string): CheckedFile {
  const source = file.endsWith('.css') ? null : parseSource(file, text);
  return { file, text, source, functions: source ? functionsOf(source) : [] };
}

/** What breaks a rule, and by how much. A rule that only counts has 1. */
export type Violations = ReadonlyMap<string, number>;

export interface Rule {
  /** The name of its list in `code-exceptions.json`. */
  readonly name: string;
  readonly text: string;
  readonly violationsIn: (checked: CheckedFile) => (readonly [entry: string, size: number])[];
}

export const FUNCTION_LINES_MAX = 70;
export const PARAMETERS_MAX = 4;
/** A margin over the 300 lines that CONTRIBUTING.md names: the rule catches what needs to be divided, not the last line. */
export const FILE_LINES_MAX = 330;
export const TEST_FILE_LINES_MAX = 500;

const isTest = (file: string): boolean => file.startsWith('test/');
const nonBlankLinesOf = (text: string): number => text.split('\n').filter((line) => line.trim() !== '').length;

const ofFunctions: Rule['violationsIn'] = ({ file, functions }) =>
  functions
    .filter(({ lines, isSuite }) => lines > FUNCTION_LINES_MAX && !isSuite)
    .map(({ name, lines }) => [`${file}: ${name}`, lines]);

const ofParameters: Rule['violationsIn'] = ({ file, functions }) =>
  functions
    .filter(({ parameters }) => parameters > PARAMETERS_MAX)
    .map(({ name, parameters }) => [`${file}: ${name}`, parameters]);

function ofFile({ file, text }: CheckedFile): [string, number][] {
  const lines = nonBlankLinesOf(text);
  return lines > (isTest(file) ? TEST_FILE_LINES_MAX : FILE_LINES_MAX) ? [[file, lines]] : [];
}

const ofSelects: Rule['violationsIn'] = ({ file, source }) =>
  source && !isTest(file) ? selectStarsOf(source).map((name) => [`${file}: ${name}`, 1]) : [];

const ofState: Rule['violationsIn'] = ({ file, source }) =>
  source && /^(?:workers|durable-objects)\//.test(file)
    ? moduleStateOf(source).map((name) => [`${file}: ${name}`, 1])
    : [];

const ofParameterWrites: Rule['violationsIn'] = ({ file, source }) =>
  source ? parameterWritesOf(source).map(([name, writes]) => [`${file}: ${name}`, writes]) : [];

export const RULES: readonly Rule[] = [
  {
    name: 'long_functions',
    text: `A function has at most ${FUNCTION_LINES_MAX} lines of code. Blank lines, comments and \`describe\` do not count.`,
    violationsIn: ofFunctions,
  },
  {
    name: 'many_parameters',
    text: `A function has at most ${PARAMETERS_MAX} positional parameters.`,
    violationsIn: ofParameters,
  },
  {
    name: 'long_files',
    text: `A file has at most ${FILE_LINES_MAX} lines, a test ${TEST_FILE_LINES_MAX}. Blank lines do not count.`,
    violationsIn: ofFile,
  },
  { name: 'select_stars', text: 'A SELECT names its columns.', violationsIn: ofSelects },
  {
    name: 'module_state',
    text: 'A module of `workers/` or `durable-objects/` has no state that is not listed.',
    violationsIn: ofState,
  },
  {
    name: 'parameter_writes',
    text: 'An exported function does not assign to a member of a parameter. What it finds out, it returns.',
    violationsIn: ofParameterWrites,
  },
];

export const violationsOf = (rule: Rule, files: readonly CheckedFile[]): Violations =>
  new Map(files.flatMap(rule.violationsIn));

export interface Comparison {
  /** Violations that are not listed, or that grew. */
  readonly added: Violations;
  /** Entries that nothing breaks any more. */
  readonly stale: readonly string[];
  /** The list without the stale entries, with the sizes that fell. */
  readonly shrunk: Readonly<Record<string, number>>;
}

export function compare(found: Violations, known: Readonly<Record<string, number>>): Comparison {
  const added = [...found].filter(([entry, size]) => size > (known[entry] ?? 0));
  const kept = Object.entries(known).filter(([entry]) => found.has(entry));
  return {
    added: new Map(added),
    stale: Object.keys(known).filter((entry) => !found.has(entry)),
    shrunk: Object.fromEntries(kept.map(([entry, size]) => [entry, Math.min(size, found.get(entry) ?? size)])),
  };
}
