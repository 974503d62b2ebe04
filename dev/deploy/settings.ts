/** Reads and checks the variables and secrets of `npm run deploy`, from its environment or from files that are never committed. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import { settingFacts } from '../../workers/shared/settings/setting-types.ts';
import { findTypingErrors, parseSettings, toSentence } from '../../workers/shared/settings/settings.ts';
import { settingsSchema } from '../../workers/shared/settings/settings-schema.ts';
import { deploySchema } from './environment.ts';

export interface DeploySettings {
  /** Values of variables that differ from wrangler.toml. */
  readonly variables: Readonly<Record<string, string>>;
  /** Values of the secrets that were given. */
  readonly secrets: Readonly<Record<string, string>>;
}

const namesOf = (isWanted: (facts: { isSecret: boolean; isLocal: boolean }) => boolean): string[] =>
  Object.entries(settingsSchema.shape).flatMap(([name, setting]) => {
    const facts = settingFacts.get(setting);
    return facts && isWanted(facts) ? [name] : [];
  });
const SECRETS = namesOf(({ isSecret }) => isSecret);
const VARIABLES = namesOf(({ isSecret, isLocal }) => !isSecret && !isLocal);
const LOCAL_ONLY = namesOf(({ isLocal }) => isLocal);
/** Names of variables that only the deploy script reads. The files may also set them. */
const OF_SCRIPT = Object.keys(deploySchema.shape).filter((name) => !(name in settingsSchema.shape));

export interface SettingFiles {
  readonly variables: string;
  readonly secrets: string;
}

/**
 * Finds the files of an environment's settings.
 * @returns the paths: `.deploy.vars` and `.deploy.secrets`, or `.deploy.staging.vars` and so on.
 */
export function settingFilesOf(directory: string, environment: string): SettingFiles {
  const stem = join(directory, environment === '' ? '.deploy' : `.deploy.${environment}`);
  return { variables: `${stem}.vars`, secrets: `${stem}.secrets` };
}

export const readEnvFile = (path: string): Record<string, string> => {
  const entries = existsSync(path) ? Object.entries(parseEnv(readFileSync(path, 'utf8'))) : [];
  return Object.fromEntries(entries.flatMap(([name, value]) => (value ? [[name, value]] : [])));
};

/**
 * Reads and checks the settings.
 * @param files paths of files that are read if they exist.
 * @param configured `[vars]` of wrangler.toml.
 * @returns the settings, or one sentence per problem. The sentences never contain a value.
 */
export function readDeploySettings(
  files: SettingFiles,
  configured: Readonly<Record<string, unknown>>,
): DeploySettings | string[] {
  const variablesFile = readEnvFile(files.variables);
  const secretsFile = readEnvFile(files.secrets);
  const pick = (names: readonly string[], file: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = process.env[name] || file[name];
        return value ? [[name, value]] : [];
      }),
    );
  const variables = pick(VARIABLES, variablesFile);
  const secrets = pick(SECRETS, secretsFile);
  const given = { ...configured, ...variablesFile, ...variables, ...secretsFile, ...secrets };
  for (const name of [...LOCAL_ONLY, ...OF_SCRIPT]) delete given[name];
  const faults = parseSettings(given)
    // Ignores problems of secrets that are not given: they may be set on the Worker already. Otherwise the deployment creates them.
    .problems.filter(({ name }) => name in given || !SECRETS.includes(name))
    .map(toSentence);
  for (const name of SECRETS) {
    if (configured[name]) faults.push(`${name} is a secret: move it from wrangler.toml to ${basename(files.secrets)}.`);
    if (variablesFile[name])
      faults.push(`${name} is a secret: move it from ${basename(files.variables)} to ${basename(files.secrets)}.`);
  }
  const hosts = servesStorage(variables.PRODUCTS) ? ['APP_HOST', 'S3_HOST'] : ['APP_HOST'];
  const missing = hosts.filter((name) => !variables[name]);
  if (missing.length > 0) faults.push(describeMissing(missing, basename(files.variables)));
  for (const problem of findTypingErrors(Object.keys(process.env))) console.error(`Warning: ${toSentence(problem)}`);
  return faults.length > 0 ? faults : { variables, secrets };
}

const servesStorage = (products: string | undefined): boolean =>
  !products || products.toLowerCase().includes('storage');

const describeMissing = (names: readonly string[], file: string): string =>
  `${names.join(' and ')} must be set, in the environment or in ${file}: the web app and storage need
hostnames of their own, so that stored files can never act as pages of the app. For example
  APP_HOST=tessera.example.com
  S3_HOST=s3.example.com`;
