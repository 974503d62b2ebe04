/**
 * `npm run trial -- --zone example.com`: tries Tessera in a real account, and removes it again. It deploys under a random name, does the
 * first task of each product, puts a shard back and replays it, upgrades under light traffic, measures, compares with Cloudflare's
 * analytics, and writes `trial.json`. Guide: docs/deploy.md, "Try it in an account". Not tried in production.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DeployError, findAccountId, findZone } from '../deploy/cloudflare-api.ts';
import { deploySchema, readEnvironment } from '../deploy/environment.ts';
import type { Account } from '../deploy/resources.ts';
import { isTerminal } from '../deploy/wrangler.ts';
import { ROOT } from '../local/build.ts';
import { type DeployEnvironment, toCloudflare } from './platform.ts';
import { PLATFORM_STEPS } from './platform-steps.ts';
import { describePrice, MINUTES_MAX, REMOVAL_MINUTES } from './price.ts';
import { PRODUCT_STEPS } from './product-steps.ts';
import { listOwned, removeOwned } from './remove.ts';
import { runTrial } from './run.ts';
import { countRequests, type TrialWorld } from './world.ts';

const USAGE = `npm run trial -- --zone <domain> [options]
  --zone <domain>     a zone of the account that nothing else uses
  --mail-to <address> an address of yours: one mail is sent to it. Without it, no mail leaves
  --yes               start, and remove everything at the end, without asking`;
const REPORT = join(ROOT, 'trial.json');

interface TrialOptions {
  readonly zone: string;
  readonly mailTo: string;
  readonly isAgreed: boolean;
}

/** Parses the command line. @returns a sentence if something is wrong. */
function readOptions(args: readonly string[]): TrialOptions | string {
  const options = { zone: { type: 'string' }, 'mail-to': { type: 'string' }, yes: { type: 'boolean' } } as const;
  try {
    const { zone = '', 'mail-to': mailTo = '', yes = false } = parseArgs({ args: [...args], options }).values;
    if (!/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(zone)) return '--zone must be a domain.';
    if (mailTo !== '' && !/^[^\s@]+@[^\s@]+$/.test(mailTo)) return '--mail-to must be an address.';
    return { zone, mailTo, isAgreed: yes };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function ask(question: string, isAgreed: boolean): Promise<boolean> {
  if (isAgreed) return true;
  if (!isTerminal) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${question} (yes or no) `);
  terminal.close();
  return answer.trim() === 'yes';
}

async function openAccount(): Promise<Account> {
  const environment = readEnvironment(deploySchema);
  if (environment.CLOUDFLARE_API_TOKEN === '') throw new DeployError('CLOUDFLARE_API_TOKEN must be set.');
  const baseUrl = (environment.CLOUDFLARE_API_BASE_URL || 'https://api.cloudflare.com/client/v4').replace(/\/+$/, '');
  const access = { baseUrl, token: environment.CLOUDFLARE_API_TOKEN };
  return { access, accountId: await findAccountId(access, environment.CLOUDFLARE_ACCOUNT_ID.toLowerCase()) };
}

/** Variables of the deployment. Its settings and secrets are in a folder of the trial. */
function toEnvironment(
  folder: string,
  accountId: string,
  world: Pick<TrialWorld, 'rootToken' | 'mailDomain'>,
  hosts: [string, string],
): DeployEnvironment {
  return {
    CI: '',
    DEPLOY_DIR: folder,
    CLOUDFLARE_ACCOUNT_ID: accountId,
    APP_HOST: hosts[0],
    S3_HOST: hosts[1],
    MAIL_DOMAINS: world.mailDomain,
    ROOT_TOKEN: world.rootToken,
    REGISTRATION: 'invite',
    LEADERBOARD_SHARDS: '1',
  };
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (typeof options === 'string') {
    console.error(`${options}\n\n${USAGE}`);
    process.exit(2);
  }
  const account = await openAccount();
  const zone = await findZone(account.access, account.accountId, options.zone);
  const name = `trial${randomBytes(3).toString('hex')}`;
  console.log(describePrice(`tessera-${name}`));
  if (!(await ask('Start?', options.isAgreed)))
    throw new DeployError('Nothing was made. Without a terminal, --yes starts it and removes everything at the end.');
  const folder = mkdtempSync(join(tmpdir(), `tessera-${name}-`));
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort(new Error('it was interrupted')));
  const time = AbortSignal.timeout((MINUTES_MAX - REMOVAL_MINUTES) * 60_000);
  const signal = AbortSignal.any([interrupt.signal, time]);
  const hosts: [string, string] = [`${name}.${zone.name}`, `s3-${name}.${zone.name}`];
  const origin = process.env.DEPLOY_CHECK_ORIGIN;
  const own = { rootToken: randomBytes(32).toString('base64url'), mailDomain: `mail-${name}.${zone.name}` };
  const world: TrialWorld = {
    ...own,
    name,
    appOrigin: origin || `https://${hosts[0]}`,
    storageOrigin: origin || `https://${hosts[1]}`,
    mailTo: options.mailTo,
    platform: toCloudflare(account, name, toEnvironment(folder, account.accountId, own, hosts)),
    signal,
    requests: countRequests(),
    pause: (ms) => setTimeout(ms, undefined, { signal }),
  };
  const report = await runTrial(world, [...PRODUCT_STEPS, ...PLATFORM_STEPS], () =>
    removeOwned(
      () => listOwned(account, zone, name),
      (names) => {
        console.log(`This is removed and cannot be restored:\n${names.map((what) => `  ${what}`).join('\n')}`);
        return ask('Remove all of it?', options.isAgreed);
      },
    ),
  );
  writeFileSync(REPORT, `${JSON.stringify(report, null, 2)}\n`);
  console.log(`Wrote ${REPORT}.`);
  if (report.left.length === 0) rmSync(folder, { recursive: true });
  else
    console.error(
      `Left in the account:\n${report.left.map((what) => `  ${what}`).join('\n')}\nIts secrets are in ${folder}.`,
    );
  process.exitCode = report.is_ok ? 0 : 1;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof DeployError)) throw error;
  console.error(error.message);
  process.exit(1);
}
