/**
 * `npm run deploy`: makes what is missing (databases, buckets, queues, secrets), applies the remote migrations, deploys,
 * and checks health. Safe to repeat: nothing that exists is made again, and a secret that is set is never replaced.
 *
 * Settings come from the environment or from `.deploy.vars` (never committed): APP_HOST and S3_HOST are required; any
 * variable of wrangler.toml may be set there too.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { unstable_readConfig } from 'wrangler';
import { ROOT } from './build.ts';

const CONFIG = join(ROOT, 'wrangler.toml');
/** wrangler.toml with this account's database ids and variables; beside it, so that paths in it stay true. */
const DEPLOY_CONFIG = join(ROOT, 'wrangler.deploy.toml');
/** Where the settings are read and the secrets are kept: the repository's own folder, unless DEPLOY_DIR names another. */
const DEPLOY_DIRECTORY = process.env.DEPLOY_DIR ?? ROOT;
const SECRETS_FILE = join(DEPLOY_DIRECTORY, '.deploy.secrets');
const SECRETS_UPLOAD = join(DEPLOY_DIRECTORY, '.deploy.upload.json');
const SETTINGS_FILE = join(DEPLOY_DIRECTORY, '.deploy.vars');

const HEALTH_ATTEMPTS = 10;
const HEALTH_PAUSE_MS = 3_000;

/** `WRANGLER` names another command than the repository's own, for trying this script without an account. */
const WRANGLER = process.env.WRANGLER ?? join(ROOT, 'node_modules/.bin/wrangler');

const run = (...args: string[]): string =>
  execFileSync(WRANGLER, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

function readSettings(): Record<string, string> {
  const file = existsSync(SETTINGS_FILE) ? parseEnv(readFileSync(SETTINGS_FILE, 'utf8')) : {};
  const names = Object.keys(unstable_readConfig({ config: CONFIG }).vars);
  const settings: Record<string, string> = {};
  for (const name of names) {
    const value = process.env[name] ?? file[name];
    if (value !== undefined) settings[name] = value;
  }
  for (const name of ['LOCAL', 'CLOCK_OFFSET_SECONDS']) delete settings[name];
  const missing = ['APP_HOST', 'S3_HOST'].filter((name) => !settings[name]);
  if (missing.length > 0) {
    console.error(`${missing.join(' and ')} must be set, in the environment or in .deploy.vars: the web app and storage need
hostnames of their own, so that stored files can never act as pages of the app. For example
  APP_HOST=tessera.example.com
  S3_HOST=s3.example.com`);
    process.exit(2);
  }
  if (settings.APP_HOST === settings.S3_HOST) {
    console.error('APP_HOST and S3_HOST must be two different hostnames.');
    process.exit(2);
  }
  return settings;
}

/** Runs a command that makes something; that it is there already is as good. */
function make(what: string, ...args: string[]): void {
  try {
    execFileSync(WRANGLER, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    console.log(`made ${what}`);
  } catch (error) {
    const output = ['stdout', 'stderr']
      .map((stream) => String((error as Record<string, unknown>)[stream] ?? ''))
      .join('\n');
    if (!/already exists|already taken|already own|11009|10004/i.test(output)) throw new Error(`${what}: ${output}`);
  }
}

/** @returns the id of each database of wrangler.toml, by its name. */
function makeDatabases(names: readonly string[]): Map<string, string> {
  const list = () =>
    new Map(
      (JSON.parse(run('d1', 'list', '--json')) as { name: string; uuid: string }[]).map((row) => [row.name, row.uuid]),
    );
  let existing = list();
  for (const name of names.filter((candidate) => !existing.has(candidate)))
    make(`database ${name}`, 'd1', 'create', name);
  existing = list();
  const lost = names.filter((name) => !existing.has(name));
  if (lost.length > 0) throw new Error(`these databases could not be made: ${lost.join(', ')}`);
  return existing;
}

function writeDeployConfig(databaseIds: ReadonlyMap<string, string>, settings: Readonly<Record<string, string>>): void {
  const text = readFileSync(CONFIG, 'utf8')
    .replace(/^database_id = "([^"]*)"$/gm, (line, name: string) => {
      const id = databaseIds.get(name);
      return id === undefined ? line : `database_id = "${id}"`;
    })
    .replace(/^([A-Z][A-Z0-9_]*) = "[^"]*"/gm, (line, name: string) =>
      name in settings ? `${name} = ${JSON.stringify(settings[name])}` : line,
    );
  const routes = [settings.APP_HOST, settings.S3_HOST].map(
    (host) => `  { pattern = "${host}", custom_domain = true },`,
  );
  writeFileSync(
    DEPLOY_CONFIG,
    `# Written by npm run deploy; not to be edited or committed.\nroutes = [\n${routes.join('\n')}\n]\n${text}`,
  );
}

/** Invents the secrets that the Worker does not have yet. The file is the only copy: MASTER_KEY cannot be read back. */
function prepareSecrets(workerName: string): string[] {
  const required = ['ROOT_TOKEN', 'MASTER_KEY'];
  let present: string[] = [];
  try {
    const args = ['secret', 'list', '--name', workerName, '--format', 'json'];
    const listing = execFileSync(WRANGLER, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    present = (JSON.parse(listing) as { name: string }[]).map((row) => row.name);
  } catch (error) {
    // Only a Worker that was never deployed has no list; anything else must not look like "no secrets yet".
    const output = String((error as { stderr?: unknown }).stderr ?? '');
    if (!/10007|not found|does not exist/i.test(output)) throw new Error(`the secrets cannot be listed: ${output}`);
  }
  const kept = existsSync(SECRETS_FILE) ? parseEnv(readFileSync(SECRETS_FILE, 'utf8')) : {};
  const missing = required.filter((name) => !present.includes(name));
  const values: Record<string, string> = {};
  for (const name of missing) values[name] = kept[name] ?? randomBytes(32).toString('base64');
  if (missing.length === 0) return [];
  const lines = Object.entries({ ...kept, ...values }).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(SECRETS_FILE, lines.join(''), { mode: 0o600 });
  console.log(`${missing.join(' and ')} are in .deploy.secrets: keep that file somewhere safe, it is the only copy.`);
  writeFileSync(SECRETS_UPLOAD, JSON.stringify(values), { mode: 0o600 });
  return ['--secrets-file', SECRETS_UPLOAD];
}

async function checkHealth(host: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await fetch(`https://${host}/v1/health`);
      const report = await response.text();
      if (response.ok) return console.log(`https://${host}/v1/health: ${report}`);
      throw new Error(`${response.status} ${report}`);
    } catch (error) {
      if (attempt === HEALTH_ATTEMPTS)
        throw new Error(`deployed, but https://${host}/v1/health does not answer well: ${error}`);
      await new Promise((resolve) => setTimeout(resolve, HEALTH_PAUSE_MS));
    }
  }
}

const settings = readSettings();
/** What this script needs of wrangler.toml; wrangler's own type of it is not exported whole. */
interface DeployableConfig {
  readonly name?: string;
  readonly d1_databases: { binding: string; database_name?: string }[];
  readonly r2_buckets: { bucket_name?: string }[];
  readonly queues: { producers?: { queue: string }[]; consumers?: { queue: string; dead_letter_queue?: string }[] };
}

const config = unstable_readConfig({ config: CONFIG }) as DeployableConfig;
const databases = config.d1_databases.map((database) => database.database_name ?? database.binding);
const queues = new Set([
  ...(config.queues.producers?.map((producer) => producer.queue) ?? []),
  ...(config.queues.consumers?.flatMap((consumer) => [consumer.queue, consumer.dead_letter_queue ?? consumer.queue]) ??
    []),
]);

run('whoami');
const databaseIds = makeDatabases(databases);
for (const bucket of config.r2_buckets)
  make(`bucket ${bucket.bucket_name}`, 'r2', 'bucket', 'create', bucket.bucket_name ?? '');
for (const queue of queues) make(`queue ${queue}`, 'queues', 'create', queue);
writeDeployConfig(databaseIds, settings);
const secretArguments = prepareSecrets(config.name ?? 'tessera');
try {
  for (const name of databases) run('d1', 'migrations', 'apply', name, '--remote', '--config', DEPLOY_CONFIG);
  console.log(run('deploy', '--config', DEPLOY_CONFIG, ...secretArguments));
} finally {
  rmSync(SECRETS_UPLOAD, { force: true });
}
if (process.env.SKIP_HEALTH !== '1') await checkHealth(settings.APP_HOST ?? '');
