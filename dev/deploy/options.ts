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
  /** A gradual upgrade. Undefined: all traffic moves at once. */
  readonly gradual: GradualOptions | undefined;
}

export interface GradualOptions {
  /** Percentage of the traffic that the new version gets first. */
  readonly share: number;
  /** Minutes for which its errors are watched before it gets the rest. */
  readonly watchMinutes: number;
}

const WATCH_MINUTES = 10;

export const USAGE = `npm run deploy -- [options]
  --env <name>       a deployment beside production, with resources of its own
  --dry-run          print what would be done and change nothing
  --shards <n>       databases for objects: ${DATABASE_RULES.OBJECTS.allowed}; it never decreases
  --directories <n>  user databases: ${DATABASE_RULES.DIRECTORY.allowed}; it never decreases
  --teardown         delete the deployment and its data
  --share <n>        with --upgrade: the new version first gets n % of the traffic, and the rest if it does not fail
  --watch <minutes>  with --share: how long it is watched before, ${WATCH_MINUTES} by default
  --upgrade          the same as npm run upgrade: show what changes, deploy, and say how to go back`;

const OPTIONS = {
  env: { type: 'string' },
  'dry-run': { type: 'boolean' },
  shards: { type: 'string' },
  directories: { type: 'string' },
  teardown: { type: 'boolean' },
  upgrade: { type: 'boolean' },
  share: { type: 'string' },
  watch: { type: 'string' },
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
  const gradual = parseGradual(values);
  if (typeof gradual === 'string') return gradual;
  return {
    mode: values.teardown ? 'teardown' : values.upgrade ? 'upgrade' : 'deploy',
    environment: env,
    isDryRun: values['dry-run'] ?? false,
    databases,
    gradual,
  };
}

/** Parses the options of a gradual upgrade. @returns a sentence if one is wrong. */
function parseGradual(values: ReturnType<typeof parseValues>): GradualOptions | undefined | string {
  const { share, watch } = values;
  if (share === undefined) return watch === undefined ? undefined : '--watch needs --share.';
  if (!values.upgrade) return '--share is an option of npm run upgrade.';
  if (values.shards !== undefined || values.directories !== undefined)
    return '--share excludes --shards and --directories: the version before cannot read databases that it does not have.';
  if (!/^[1-9]\d?$/.test(share)) return '--share must be a whole number of percent from 1 to 99.';
  if (watch !== undefined && !/^\d{1,4}$/.test(watch)) return '--watch must be a whole number of minutes.';
  return { share: Number(share), watchMinutes: watch === undefined ? WATCH_MINUTES : Number(watch) };
}
