/** Command line of `npm run deploy` and `npm run upgrade`. */
import { parseArgs } from 'node:util';

export interface DeployOptions {
  readonly mode: 'deploy' | 'upgrade' | 'teardown';
  /** Name of a deployment other than production. Empty for production. */
  readonly environment: string;
  /** Whether to print the steps without changing anything. */
  readonly isDryRun: boolean;
  /** Number of OBJECTS_n databases. Undefined keeps the present number. */
  readonly shards: number | undefined;
}

const SHARDS_MAX = 64;
export const USAGE = `npm run deploy -- [options]
  --env <name>   a deployment beside production, with resources of its own
  --dry-run      print what would be done and change nothing
  --shards <n>   number of OBJECTS_n databases, 1 to ${SHARDS_MAX}; it never decreases
  --teardown     delete the deployment and its data
  --upgrade      the same as npm run upgrade: show what changes, deploy, and say how to go back`;

const OPTIONS = {
  env: { type: 'string' },
  'dry-run': { type: 'boolean' },
  shards: { type: 'string' },
  teardown: { type: 'boolean' },
  upgrade: { type: 'boolean' },
} as const;

/**
 * Finds options that npm did not pass on. Without `--` before it, npm keeps an option for itself and sets a variable
 * (`npm_config_…`): `npm run deploy --dry-run` would deploy.
 * @returns the first such option.
 */
const findLostOption = (variables: NodeJS.ProcessEnv): string | undefined =>
  Object.keys(OPTIONS).find((name) => variables[`npm_config_${name.replaceAll('-', '_')}`] !== undefined);

/**
 * Parses the command line.
 * @param variables environment of the process, in which npm sets options that it did not pass on.
 * @returns the options, or a sentence about the error.
 */
export function parseOptions(args: readonly string[], variables: NodeJS.ProcessEnv): DeployOptions | string {
  const lost = findLostOption(variables);
  if (lost !== undefined)
    return `npm kept --${lost} for itself. Write "--" before the options: npm run deploy -- --${lost}`;
  let values: { env?: string; 'dry-run'?: boolean; shards?: string; teardown?: boolean; upgrade?: boolean };
  try {
    ({ values } = parseArgs({ args: [...args], options: OPTIONS }));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { env = '', shards } = values;
  if (values.env !== undefined && (!/^[a-z][a-z0-9]{0,19}$/.test(env) || env === 'production'))
    return '--env must be 1 to 20 lower-case letters and digits, and not "production": that is the deployment without --env.';
  const isCount =
    shards === undefined || (/^\d{1,2}$/.test(shards) && Number(shards) >= 1 && Number(shards) <= SHARDS_MAX);
  if (!isCount) return `--shards must be a whole number from 1 to ${SHARDS_MAX}.`;
  if (values.teardown && values.upgrade) return '--teardown and --upgrade exclude each other.';
  return {
    mode: values.teardown ? 'teardown' : values.upgrade ? 'upgrade' : 'deploy',
    environment: env,
    isDryRun: values['dry-run'] ?? false,
    shards: shards === undefined ? undefined : Number(shards),
  };
}
