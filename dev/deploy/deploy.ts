/**
 * `npm run deploy`: creates missing resources (databases, buckets, queues, secrets), applies the remote migrations, deploys, and
 * checks health. Safe to repeat and to interrupt: existing resources are not created again, and a required secret that is set is
 * never replaced. Options: dev/deploy/options.ts. Guide: docs/deploy.md.
 *
 * Settings come from the environment or from `.deploy.vars`, secrets from the environment or from `.deploy.secrets` (never
 * committed). APP_HOST and S3_HOST are required. All names: docs/configuration.md.
 *
 * A live DNS record or another Worker's custom domain is never replaced without consent. On a terminal wrangler asks; elsewhere
 * this script queries Cloudflare first and stops, unless DEPLOY_TAKE_OVER=1.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EMAIL_SERVICE, splitTransports } from '../../workers/mail/domain/transport-choice.ts';
import { ROOT } from '../local/build.ts';
import { readRawConfig } from '../local/worker-options.ts';
import { DeployError, findAccountId, findZone, REQUIRED_PERMISSIONS } from './cloudflare-api.ts';
import { findDomainConflicts } from './domain-conflicts.ts';
import { deploySchema, readEnvironment } from './environment.ts';
import { prepareGradual, shiftTraffic, uploadVersion } from './gradual.ts';
import { checkHealth } from './health.ts';
import { findMonthLimit, keepMonthLimit } from './month-limit.ts';
import { countDatabases, DATABASE_RULES, type DatabaseKind } from './numbered-databases.ts';
import { type DeployOptions, parseOptions, USAGE } from './options.ts';
import {
  countLocations,
  type DeployPlan,
  planDeployment,
  renderConfig,
  THIRD_BUCKET_OFFER,
  type WorkerConfig,
} from './plan.ts';
import { readRateLimits } from './rate-limits.ts';
import {
  type Account,
  createMissing,
  enableReadReplication,
  listMissing,
  listResources,
  type Resources,
  refuseForeignConsumers,
  refuseOtherJurisdiction,
} from './resources.ts';
import { refuseUnableS3Location } from './s3-location-probe.ts';
import { listMissingSecrets, prepareSecrets, requireSecretsOfCi, withSecretsFile } from './secrets.ts';
import { type DeploySettings, readDeploySettings, readEnvFile, settingFilesOf } from './settings.ts';
import { teardown } from './teardown.ts';
import { listPendingMigrations, prepareUpgrade, tagArguments } from './upgrade.ts';
import { isCi, isTerminal, runWrangler, runWranglerOnTerminal } from './wrangler.ts';
import { keepObjectsUncompressed, keepRawTargets, setUpMail } from './zone.ts';

const options = readOptions();
const files = settingFilesOf(process.env.DEPLOY_DIR || ROOT, options.environment);
const environment = readEnvironment(deploySchema, { ...readEnvFile(files.variables), ...readEnvFile(files.secrets) });
/** Path of the configuration for wrangler. It is in the same folder as wrangler.toml, so that relative paths in it stay valid. */
const DEPLOY_CONFIG = join(ROOT, `wrangler.deploy${options.environment && `.${options.environment}`}.json`);

/** Reads the options. Ends the process with status 2 if one is wrong. */
function readOptions(): DeployOptions {
  const parsed = parseOptions(process.argv.slice(2), process.env);
  if (typeof parsed !== 'string') return parsed;
  console.error(`${parsed}\n\n${USAGE}`);
  process.exit(2);
}

/** Reads the settings. Ends the process with status 2 if one is wrong. */
function readSettings(configured: Readonly<Record<string, unknown>>): DeploySettings {
  const settings = readDeploySettings(files, configured);
  if (!Array.isArray(settings)) return settings;
  console.error(settings.join('\n'));
  process.exit(2);
}

/** Finds the API token. @returns the token of the environment, or that of `wrangler login`. */
async function findToken(): Promise<string> {
  if (environment.CLOUDFLARE_API_TOKEN !== '') return environment.CLOUDFLARE_API_TOKEN;
  if (!isTerminal)
    throw new DeployError(
      'CLOUDFLARE_API_TOKEN must be set: without a terminal, wrangler cannot log in and cannot ask before it replaces domains.',
    );
  const read = async (): Promise<string> =>
    (JSON.parse(await runWrangler('auth', 'token', '--json')) as { token: string }).token;
  try {
    return await read();
  } catch {
    await runWranglerOnTerminal('login');
    return read();
  }
}

/** Prints what the deployment needs, before it starts. @throws DeployError if the token or its account is wrong. */
async function openAccount(): Promise<Account> {
  console.log(
    `Needs the plan Workers Paid, R2 and Analytics Engine enabled, and a token with: ${REQUIRED_PERMISSIONS.join('; ')}. See docs/deploy.md.`,
  );
  const baseUrl = (environment.CLOUDFLARE_API_BASE_URL || 'https://api.cloudflare.com/client/v4').replace(/\/+$/, '');
  const access = { baseUrl, token: await findToken() };
  const accountId = await findAccountId(access, environment.CLOUDFLARE_ACCOUNT_ID.toLowerCase());
  // Make wrangler use the account and the token that were checked.
  process.env.CLOUDFLARE_ACCOUNT_ID = accountId;
  if (environment.CLOUDFLARE_API_TOKEN) process.env.CLOUDFLARE_API_TOKEN = access.token;
  console.log(`Account: ${accountId}`);
  return { access, accountId };
}

/**
 * Checks the number of databases of a kind.
 * @throws DeployError if fewer are requested than exist: the contents of the others would be unreachable.
 */
function chooseTotal(kind: DatabaseKind, resources: Resources): number {
  const { option, plural } = DATABASE_RULES[kind];
  const existing = countDatabases(kind, resources.databases.keys(), options.environment);
  const { [kind]: total = existing } = options.databases;
  if (total < existing)
    throw new DeployError(`${existing} ${plural} exist, so --${option} must be at least ${existing}.`);
  return total;
}

/** The migrations of DIRECTORY: the first one, and the one of the first version that knows further user databases. */
const FIRST_MIGRATION = '0000_initial.sql';
const MIGRATION_OF_GROUPS = '0001_change.sql';

/**
 * Checks that the version that runs now knows further user databases, if this deployment adds some. An older version would issue
 * the addresses in them a second time until it is replaced.
 * @throws DeployError if it does not.
 */
async function refuseEarlyGroup(account: Account, plan: DeployPlan, { databases }: Resources): Promise<void> {
  const isAdded = plan.databases.some(({ binding, name }) => binding.startsWith('DIRECTORY_') && !databases.has(name));
  const directory = plan.databases.find(({ binding }) => binding === 'DIRECTORY')?.name ?? '';
  if (!isAdded || !databases.has(directory)) return;
  const pending = (await listPendingMigrations(account, plan, databases)).get(directory) ?? [];
  if (pending.includes(FIRST_MIGRATION) || !pending.includes(MIGRATION_OF_GROUPS)) return;
  throw new DeployError(
    'The version that runs now does not know further user databases. Nothing was changed. Deploy without --directories first, then again with it.',
  );
}

/** Checks that the hosts are free, without changing anything. @throws DeployError that names each host already in use. */
async function refuseTakeOver(account: Account, { worker, hosts }: DeployPlan): Promise<void> {
  for (const host of hosts) await findZone(account.access, account.accountId, host);
  // On a terminal this check is not needed, because wrangler asks. Its login may also lack the right to read DNS records.
  if (environment.DEPLOY_TAKE_OVER === '1' || isTerminal) return;
  const conflicts = await findDomainConflicts(account.access, account.accountId, worker, hosts);
  if (conflicts.length === 0) return;
  const lines = conflicts.map(({ hostname, reason }) => `  ${hostname} ${reason}.`);
  throw new DeployError(
    `The deployment would take over:\n${lines.join('\n')}\nNothing was changed. Choose other hosts, or set DEPLOY_TAKE_OVER=1 to replace them.`,
  );
}

async function printDryRun(account: Account, plan: DeployPlan, resources: Resources): Promise<void> {
  for (const { what } of listMissing(plan, resources)) console.log(`would create ${what}`);
  for (const name of listMissingSecrets(resources.secrets)) console.log(`would set the secret ${name}`);
  for (const [name, pending] of await listPendingMigrations(account, plan, resources.databases))
    for (const file of pending) console.log(`would apply the migration ${file} to ${name}`);
  console.log(`would deploy the Worker ${plan.worker} with the custom domains ${plan.hosts.join(' and ')}`);
  console.log('Dry run: nothing was changed.');
}

/**
 * Applies the pending migrations before the new version starts. If one fails, the deployment ends and the old version keeps
 * running.
 */
async function applyMigrations(account: Account, plan: DeployPlan, ids: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, pending] of await listPendingMigrations(account, plan, ids)) {
    // A run of wrangler takes seconds, and there may be 149 databases.
    if (pending.length === 0) continue;
    try {
      await runWrangler('d1', 'migrations', 'apply', name, '--remote', '--config', DEPLOY_CONFIG);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new DeployError(
        `${reason}\nA migration of the database ${name} failed, so no code was deployed. Migrations before it stay applied. Correct the cause and run the command again: it continues with the failed migration.`,
      );
    }
  }
}

async function deployWorker(plan: DeployPlan, secretArguments: readonly string[]): Promise<void> {
  const args = ['deploy', '--config', DEPLOY_CONFIG, ...tagArguments(), ...secretArguments];
  if (isTerminal && environment.DEPLOY_TAKE_OVER !== '1') await runWranglerOnTerminal(...args);
  else console.log(await runWrangler(...args));
  console.log(`deployed ${plan.worker}`);
}

/** As in `workers/mail/product.ts`. */
const EVENT_QUEUE_SUFFIX = '-mail-events';

/**
 * Uploads the Worker and gives it the traffic: all at once, or step by step.
 * @param before the version that runs now, if the upgrade is gradual.
 */
async function release(
  account: Account,
  plan: DeployPlan,
  secrets: Record<string, string>,
  before: string | undefined,
) {
  const { gradual } = options;
  const upload = async (args: string[]): Promise<string | undefined> =>
    gradual ? uploadVersion(DEPLOY_CONFIG, args) : deployWorker(plan, args).then(() => undefined);
  const after = await withSecretsFile(`${files.secrets}.upload.json`, secrets, upload);
  if (gradual === undefined || before === undefined || after === undefined) return;
  const dataset = plan.config.vars.ANALYTICS_DATASET ?? '';
  await shiftTraffic(account, plan, DEPLOY_CONFIG, {
    ...gradual,
    before,
    after,
    origin: toOrigin(plan.hosts[0]),
    dataset,
  });
}

/** The origin of a host of the deployment: in production `https://` and the host. */
const toOrigin = (host = ''): string => environment.DEPLOY_CHECK_ORIGIN || `https://${host}`;

async function deploy(
  account: Account,
  plan: DeployPlan,
  resources: Resources,
  { settings, before }: { readonly settings: DeploySettings; readonly before: string | undefined },
) {
  const ids = await createMissing(account, plan, resources);
  writeFileSync(DEPLOY_CONFIG, renderConfig(plan, ids));
  const { present, given } = { present: resources.secrets, given: settings.secrets };
  const secrets = prepareSecrets({ present, given, file: files.secrets, isCi });
  await applyMigrations(account, plan, ids);
  await enableReadReplication(
    account,
    plan.databases.flatMap(({ name }) => ids.get(name) ?? []),
  );
  const { APP_HOST = '', S3_HOST = '', RAW_TARGET_HEADER, MAIL_DOMAINS = '' } = settings.variables;
  // Set the rule of the zone before the Worker trusts the header, so that no client can set that header.
  if (RAW_TARGET_HEADER && S3_HOST) await keepRawTargets(account, S3_HOST, RAW_TARGET_HEADER);
  const isStorageServed = (settings.variables.PRODUCTS ?? 'storage').includes('storage');
  if (isStorageServed && S3_HOST) await keepObjectsUncompressed(account, S3_HOST);
  await release(account, plan, secrets, before);
  if (environment.SKIP_HEALTH !== '1') await checkHealth(plan.hosts, toOrigin);
  const isMailServed = (settings.variables.PRODUCTS ?? 'mail').includes('mail');
  const domains = (isMailServed ? MAIL_DOMAINS : '').split(/[\s,]+/).filter(Boolean);
  const rootToken = secrets.ROOT_TOKEN ?? settings.secrets.ROOT_TOKEN;
  const { MAIL_TRANSPORT = '' } = settings.variables;
  const isEmailService = MAIL_TRANSPORT === '' || splitTransports(MAIL_TRANSPORT).includes(EMAIL_SERVICE);
  const eventQueue = plan.queues.find((name) => isEmailService && name.endsWith(EVENT_QUEUE_SUFFIX)) ?? null;
  await setUpMail(account, { worker: plan.worker, domains, eventQueue, origin: toOrigin(APP_HOST), rootToken });
  if (plan.buckets.length < 3) console.log(THIRD_BUCKET_OFFER);
  console.log(`Web app: https://${APP_HOST}/_/  What to do first: docs/deploy.md, "4. First steps".`);
}

async function main(): Promise<void> {
  const config = (await readRawConfig()) as unknown as WorkerConfig;
  const settings = readSettings(config.vars);
  const account = await openAccount();
  const input = {
    environment: options.environment,
    accountId: account.accountId,
    variables: settings.variables,
    homeRegion: environment.HOME_REGION,
    secondRegion: environment.SECOND_REGION,
    thirdRegion: environment.THIRD_REGION,
    existingLocations: 2,
    rateLimits: readRateLimits({ ...config.vars, ...settings.variables }),
  };
  const { worker, config: planned } = planDeployment(config, { ...input, databases: { OBJECTS: 1, DIRECTORY: 1 } });
  const monthLimit = options.mode === 'upgrade' ? await findMonthLimit(account, planned.vars) : null;
  const { JURISDICTION: jurisdiction = '' } = settings.variables;
  const resources = await listResources(account, worker, jurisdiction);
  const plan = planDeployment(config, {
    ...input,
    variables: { ...settings.variables, ...(monthLimit === null ? {} : { MAIL_OUT_PER_MONTH: monthLimit }) },
    databases: { OBJECTS: chooseTotal('OBJECTS', resources), DIRECTORY: chooseTotal('DIRECTORY', resources) },
    existingLocations: countLocations(resources.buckets, options.environment),
  });
  if (options.mode === 'teardown') {
    const { isDryRun } = options;
    return teardown(account, plan, resources, { isDryRun, isTerminal, given: environment.TEARDOWN });
  }
  await refuseUnableS3Location(settings);
  refuseForeignConsumers(plan, resources);
  refuseOtherJurisdiction(plan, resources);
  if (isCi) requireSecretsOfCi(resources.secrets);
  await refuseEarlyGroup(account, plan, resources);
  await refuseTakeOver(account, plan);
  const isDeployed = resources.secrets !== undefined;
  const printWayBack =
    options.mode === 'upgrade'
      ? await prepareUpgrade(account, plan, resources.databases, { isDeployed, configPath: DEPLOY_CONFIG })
      : undefined;
  const added = listMissing(plan, resources).map(({ what }) => what);
  const before = options.gradual && (await prepareGradual(account, plan, added));
  if (options.isDryRun) return printDryRun(account, plan, resources);
  if (monthLimit !== null) keepMonthLimit(files.variables, monthLimit);
  try {
    await deploy(account, plan, resources, { settings, before });
  } finally {
    printWayBack?.();
  }
}

try {
  await main();
} catch (error) {
  if (!(error instanceof DeployError)) throw error;
  console.error(error.message);
  process.exit(1);
}
