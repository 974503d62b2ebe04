/** Command line of `npm run deploy` and `npm run upgrade`. */
import { parseArgs } from 'node:util';
import { DATABASE_RULES, type DatabaseKind, parseTotal } from './numbered-databases.ts';

export interface DeployOptions {
  readonly mode: 'deploy' | 'upgrade' | 'teardown';
  /** Name of a deployment other than production. Empty for production. */
  readonly environment: string;
  /** Whether to print the steps without changing anything. */
  readonly isDryRun: boolean;
  /** Requested numbers of databases. If a kind is missing, its present number is kept. */
  readonly databases: Readonly<Partial<Record<DatabaseKind, number>>>;
}

export const USAGE = `npm run deploy -- [options]
  --env <name>       a deployment beside production, with resources of its own
  --dry-run          print what would be done and change nothing
  --shards <n>       databases for objects: ${DATABASE_RULES.OBJECTS.allowed}; it never decreases
  --directories <n>  user databases: ${DATABASE_RULES.DIRECTORY.allowed}; it never decreases
  --teardown         delete the deployment and its data
  --upgrade          the same as npm run upgrade: show what changes, deploy, and say how to go back`;

const OPTIONS = {
  env: { type: 'string' },
  'dry-run': { type: 'boolean' },
  shards: { type: 'string' },
  directories: { type: 'string' },
  teardown: { type: 'boolean' },
  upgrade: { type: 'boolean' },
} as const;

/**
 * Finds options that npm did not pass on. Without `--` before it, npm keeps an option for itself and sets a variable
 * (`npm_config_…`): `npm run deploy --dry-run` would deploy.
 * @returns the first such option.
 */
const findLostOption = (variables: Readonly<Record<string, string | undefined>>): string | undefined =>
  Object.keys(OPTIONS).find((name) => variables[`npm_config_${name.replaceAll('-', '_')}`] !== undefined);

const parseValues = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS }).values;

/**
 * Parses the command line.
 * @param variables environment of the process, in which npm sets options that it did not pass on.
 * @returns the options, or a sentence about the error.
 */
export function parseOptions(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): DeployOptions | string {
  const lost = findLostOption(variables);
  if (lost !== undefined)
    return `npm kept --${lost} for itself. Write "--" before the options: npm run deploy -- --${lost}`;
  let values: ReturnType<typeof parseValues>;
  try {
    values = parseValues(args);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { env = '' } = values;
  if (values.env !== undefined && (!/^[a-z][a-z0-9]{0,19}$/.test(env) || env === 'production'))
    return '--env must be 1 to 20 lower-case letters and digits, and not "production": that is the deployment without --env.';
  const databases: Partial<Record<DatabaseKind, number>> = {};
  for (const kind of ['OBJECTS', 'DIRECTORY'] as const) {
    const { option, allowed } = DATABASE_RULES[kind];
    const given = values[option];
    if (given === undefined) continue;
    const total = parseTotal(kind, given);
    if (total === undefined) return `--${option} must be ${allowed}.`;
    databases[kind] = total;
  }
  if (values.teardown && values.upgrade) return '--teardown and --upgrade exclude each other.';
  return {
    mode: values.teardown ? 'teardown' : values.upgrade ? 'upgrade' : 'deploy',
    environment: env,
    isDryRun: values['dry-run'] ?? false,
    databases,
  };
}
