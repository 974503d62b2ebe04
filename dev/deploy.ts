/**
 * `npm run deploy`: creates what is missing (databases, buckets, queues, secrets), applies the remote migrations, deploys,
 * and checks health. Safe to repeat: nothing that exists is created again, and a required secret that is set is never
 * replaced.
 *
 * Settings come from the environment or from `.deploy.vars`, secrets from the environment or from `.deploy.secrets` (never
 * committed). APP_HOST and S3_HOST are required. All names: docs/configuration.md.
 *
 * A live DNS record or another Worker's custom domain is never replaced without consent: on a terminal wrangler asks;
 * elsewhere this script asks Cloudflare first and stops, unless DEPLOY_TAKE_OVER=1.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unstable_readConfig } from 'wrangler';
import { ROOT } from './build.ts';
import { readDeploySettings, readEnvFile } from './deploy-settings.ts';
import { type ApiAccess, ApiError, findAccountId, findDomainConflicts } from './domain-conflicts.ts';
import { deploySchema, readEnvironment } from './environment.ts';

const CONFIG = join(ROOT, 'wrangler.toml');
/** wrangler.toml with this account's database ids and variables. In the same folder, so that its paths stay valid. */
const DEPLOY_CONFIG = join(ROOT, 'wrangler.deploy.toml');

const environment = readEnvironment(deploySchema);
const DEPLOY_DIRECTORY = environment.DEPLOY_DIR || ROOT;
const SECRETS_FILE = join(DEPLOY_DIRECTORY, '.deploy.secrets');
const SECRETS_UPLOAD = join(DEPLOY_DIRECTORY, '.deploy.upload.json');

const HEALTH_ATTEMPTS = 10;
const HEALTH_PAUSE_MS = 3_000;

const WRANGLER = environment.WRANGLER || join(ROOT, 'node_modules/.bin/wrangler');
const API_BASE_URL = environment.CLOUDFLARE_API_BASE_URL || 'https://api.cloudflare.com/client/v4';

/** wrangler asks questions only if input and output are a terminal and CI is not set. */
const isTerminal = Boolean(process.stdin.isTTY && process.stdout.isTTY) && ['', 'false'].includes(process.env.CI ?? '');

/** Ends the deployment with a sentence instead of a stack trace. */
class DeployError extends Error {}

/** @returns wrangler's standard output. @throws the error of execFileSync, which has both outputs. */
const runQuietly = (args: readonly string[]): string =>
  execFileSync(WRANGLER, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** @returns wrangler's standard output. @throws DeployError with both outputs. */
function run(...args: string[]): string {
  try {
    return runQuietly(args);
  } catch (error) {
    throw toDeployError(args, error);
  }
}

/** The output of a failed command. */
const outputOf = (error: unknown): string =>
  ['stdout', 'stderr']
    .map((stream) => String((error as Record<string, unknown>)[stream] ?? ''))
    .join('\n')
    .trim();

function toDeployError(args: readonly string[], error: unknown): DeployError {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT')
    return new DeployError(`${WRANGLER} does not exist. Run npm ci first.`);
  return new DeployError(`wrangler ${args.slice(0, 3).join(' ')} failed.\n${outputOf(error)}`.trim());
}

/** Runs a create command. "Already exists" counts as success. */
function create(what: string, ...args: string[]): void {
  try {
    runQuietly(args);
    console.log(`created ${what}`);
  } catch (error) {
    if (!/already exists|already taken|already own|11009|10004/i.test(outputOf(error)))
      throw toDeployError(args, error);
  }
}

/** Creates the databases that do not exist. @returns the ids of all databases of the account, by name. */
function createDatabases(names: readonly string[]): Map<string, string> {
  const list = () =>
    new Map(
      (JSON.parse(run('d1', 'list', '--json')) as { name: string; uuid: string }[]).map((row) => [row.name, row.uuid]),
    );
  let existing = list();
  for (const name of names.filter((candidate) => !existing.has(candidate)))
    create(`database ${name}`, 'd1', 'create', name);
  existing = list();
  const missing = names.filter((name) => !existing.has(name));
  if (missing.length > 0) throw new DeployError(`These databases could not be created: ${missing.join(', ')}.`);
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
    `# Written by npm run deploy. Do not edit or commit.\nroutes = [\n${routes.join('\n')}\n]\n${text}`,
  );
}

/** @returns the names of the Worker's secrets, or an empty list before its first deployment. */
function listSecrets(worker: string): string[] {
  const args = ['secret', 'list', '--name', worker, '--format', 'json'];
  try {
    return (JSON.parse(runQuietly(args)) as { name: string }[]).map((row) => row.name);
  } catch (error) {
    // These errors mean that the Worker was never deployed. Any other failure must not count as "no secrets yet".
    if (/10007|not found|does not exist/i.test(outputOf(error))) return [];
    throw toDeployError(args, error);
  }
}

/**
 * Creates the required secrets that the Worker lacks, and passes on the optional ones that are set. `.deploy.secrets` is the
 * only copy: Cloudflare never shows MASTER_KEY again.
 * @returns the arguments for `wrangler deploy`.
 */
function prepareSecrets(worker: string, given: Readonly<Record<string, string>>): string[] {
  const required = ['ROOT_TOKEN', 'MASTER_KEY'];
  const present = listSecrets(worker);
  const missing = required.filter((name) => !present.includes(name));
  const upload = Object.fromEntries(Object.entries(given).filter(([name]) => !required.includes(name)));
  if (missing.length > 0) {
    const created: Record<string, string> = {};
    for (const name of missing) created[name] = given[name] ?? randomBytes(32).toString('base64');
    Object.assign(upload, created);
    const kept = { ...readEnvFile(SECRETS_FILE), ...created };
    const lines = Object.entries(kept).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(SECRETS_FILE, lines.join(''), { mode: 0o600 });
    console.log(`${missing.join(' and ')} are in .deploy.secrets: keep that file somewhere safe, it is the only copy.`);
  }
  if (Object.keys(upload).length === 0) return [];
  writeFileSync(SECRETS_UPLOAD, JSON.stringify(upload), { mode: 0o600 });
  return ['--secrets-file', SECRETS_UPLOAD];
}

/** Changes nothing. @throws DeployError that names each host already in use. */
async function refuseTakeOver(worker: string, hostnames: readonly string[]): Promise<void> {
  const token = environment.CLOUDFLARE_API_TOKEN;
  if (token === '')
    throw new DeployError(
      'CLOUDFLARE_API_TOKEN must be set: without a terminal, wrangler cannot log in and cannot ask before it replaces domains.',
    );
  const access: ApiAccess = { baseUrl: API_BASE_URL.replace(/\/+$/, ''), token };
  const accountId = environment.CLOUDFLARE_ACCOUNT_ID || (await findAccountId(access));
  // Makes wrangler deploy to the account that is checked here.
  process.env.CLOUDFLARE_ACCOUNT_ID = accountId;
  if (environment.DEPLOY_TAKE_OVER === '1') return;
  const conflicts = await findDomainConflicts(access, accountId, worker, hostnames).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DeployError(
      `${reason}\nIt is unknown whether ${hostnames.join(' or ')} is in use. Run npm run deploy on a terminal, or set DEPLOY_TAKE_OVER=1.`,
    );
  });
  if (conflicts.length === 0) return;
  const lines = conflicts.map(({ hostname, reason }) => `  ${hostname} ${reason}.`);
  throw new DeployError(
    `The deployment would take over:\n${lines.join('\n')}\nNothing was changed. Choose other hosts, or set DEPLOY_TAKE_OVER=1 to replace them.`,
  );
}

/** Gives wrangler the terminal, if there is one. With a pipe, wrangler replaces domains without asking. */
function deployWorker(args: readonly string[]): void {
  if (!isTerminal || environment.DEPLOY_TAKE_OVER === '1') {
    console.log(run('deploy', ...args));
    return;
  }
  try {
    // Without CI=false, wrangler may detect CI by other variables and then does not ask.
    const env = { ...process.env, CI: 'false' };
    execFileSync(WRANGLER, ['deploy', ...args], { cwd: ROOT, stdio: 'inherit', env });
  } catch (error) {
    throw toDeployError(['deploy'], error);
  }
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
        throw new DeployError(`Deployed, but https://${host}/v1/health is not healthy: ${error}`);
      await new Promise((resolve) => setTimeout(resolve, HEALTH_PAUSE_MS));
    }
  }
}

/** The fields of wrangler.toml that this script reads. wrangler does not export its full type. */
interface DeployableConfig {
  readonly name?: string;
  readonly vars: Readonly<Record<string, unknown>>;
  readonly d1_databases: { binding: string; database_name?: string }[];
  readonly r2_buckets: { bucket_name?: string }[];
  readonly queues: { producers?: { queue: string }[]; consumers?: { queue: string; dead_letter_queue?: string }[] };
}

function listQueues({ queues }: DeployableConfig): Set<string> {
  return new Set([
    ...(queues.producers?.map((producer) => producer.queue) ?? []),
    ...(queues.consumers?.flatMap((consumer) => [consumer.queue, consumer.dead_letter_queue ?? consumer.queue]) ?? []),
  ]);
}

async function deploy(): Promise<void> {
  const config = unstable_readConfig({ config: CONFIG }) as DeployableConfig;
  const settings = readDeploySettings(DEPLOY_DIRECTORY, config.vars);
  if (Array.isArray(settings)) {
    console.error(settings.join('\n'));
    process.exit(2);
  }
  const { variables, secrets } = settings;
  const worker = config.name ?? 'tessera';
  const databases = config.d1_databases.map((database) => database.database_name ?? database.binding);
  if (!isTerminal) await refuseTakeOver(worker, [variables.APP_HOST ?? '', variables.S3_HOST ?? '']);
  run('whoami');
  const databaseIds = createDatabases(databases);
  for (const bucket of config.r2_buckets)
    create(`bucket ${bucket.bucket_name}`, 'r2', 'bucket', 'create', bucket.bucket_name ?? '');
  for (const queue of listQueues(config)) create(`queue ${queue}`, 'queues', 'create', queue);
  writeDeployConfig(databaseIds, variables);
  const secretArguments = prepareSecrets(worker, secrets);
  try {
    for (const name of databases) run('d1', 'migrations', 'apply', name, '--remote', '--config', DEPLOY_CONFIG);
    deployWorker(['--config', DEPLOY_CONFIG, ...secretArguments]);
  } finally {
    rmSync(SECRETS_UPLOAD, { force: true });
  }
  if (environment.SKIP_HEALTH !== '1') await checkHealth(variables.APP_HOST ?? '');
}

try {
  await deploy();
} catch (error) {
  if (!(error instanceof DeployError || error instanceof ApiError)) throw error;
  console.error(error.message);
  process.exit(1);
}
