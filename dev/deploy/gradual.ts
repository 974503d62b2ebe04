/**
 * A gradual upgrade: the new version gets no traffic until its health is well, then a share, and the rest if it does not fail. Else
 * the version before gets all of it again. Rules of the platform:
 * https://developers.cloudflare.com/workers/versions-and-deployments/gradual-deployments/
 *
 * The platform gives each Durable Object one of the two versions, so the objects of both run under the Worker of both meanwhile
 * (`npm run test:long -- versions`).
 */
import { callApi, DeployError, reasonOf } from './cloudflare-api.ts';
import type { GradualOptions } from './options.ts';
import type { DeployPlan } from './plan.ts';
import type { Account } from './resources.ts';
import { findDeployedVersion, type Share, tagArguments } from './upgrade.ts';
import { judgeVersions, readCounts, type VersionCounts } from './version-errors.ts';
import { runWrangler } from './wrangler.ts';

const ALL = 100;
const MINUTE_MS = 60_000;
/** A deployment takes some seconds to reach the data centre that answers this machine. */
const HEALTH_ATTEMPTS = 30;
const PAUSE_MS = 2_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const scriptPath = ({ accountId }: Account, worker: string) => `/accounts/${accountId}/workers/scripts/${worker}`;

/**
 * Checks that the platform allows a gradual upgrade. Changes nothing.
 * @param added what the deployment would create.
 * @returns the id of the version that runs.
 * @throws DeployError with the reason why it is not allowed.
 */
export async function prepareGradual(account: Account, plan: DeployPlan, added: readonly string[]): Promise<string> {
  const version = await findDeployedVersion(account, plan.worker);
  if (version === undefined) throw new DeployError(`The Worker "${plan.worker}" has no version. Run npm run deploy.`);
  if (version.isSplit)
    throw new DeployError(
      `The traffic is split already. End that first: npx wrangler rollback ${version.id} --name ${plan.worker}`,
    );
  if (added.length > 0)
    throw new DeployError(
      `The version before does not know ${added.join(', ')}, so both cannot run side by side. Run npm run upgrade without --share.`,
    );
  const service = `/accounts/${account.accountId}/workers/services/${plan.worker}`;
  const { default_environment } = await callApi<{ default_environment: { script: { migration_tag?: string } } }>(
    account.access,
    'GET',
    service,
  );
  const { migrations = [] } = plan.config as { migrations?: readonly { tag: string }[] };
  const [tag, deployed] = [migrations.at(-1)?.tag, default_environment.script.migration_tag];
  if (tag !== deployed)
    throw new DeployError(
      `This version has new object classes (migration ${tag}, deployed is ${deployed ?? 'none'}). Cloudflare deploys them to all traffic at once: run npm run upgrade without --share. Nothing was changed.`,
    );
  return version.id;
}

/** Uploads the new version, which gets no traffic. @returns its id. */
export async function uploadVersion(config: string, secretArguments: readonly string[]): Promise<string> {
  const output = await runWrangler('versions', 'upload', '--config', config, ...tagArguments(), ...secretArguments);
  const id = /Worker Version ID: (\S+)/.exec(output)?.[1];
  if (id === undefined) throw new DeployError(`wrangler did not say which version it uploaded:\n${output}`);
  console.log(`uploaded the version ${id}, still without traffic`);
  return id;
}

interface Shift extends GradualOptions {
  readonly before: string;
  readonly after: string;
  /** Origin of APP_HOST. */
  readonly origin: string;
  /** Data set of the counters in Analytics Engine. */
  readonly dataset: string;
}

/**
 * Moves the traffic from one version to the other in three steps.
 * @throws DeployError if the new version is not well or fails. Then the version before has all traffic again.
 */
export async function shiftTraffic(account: Account, plan: DeployPlan, config: string, shift: Shift): Promise<void> {
  const { before, after, share, watchMinutes } = shift;
  try {
    await setShares(account, plan, { [before]: ALL, [after]: 0 });
    await expectHealth(plan.worker, shift);
    await setShares(account, plan, { [before]: ALL - share, [after]: share });
    console.log(
      `${share} % of the traffic go to the new version for ${watchMinutes} minutes. If this is interrupted, it stays so: then go back as below, or on with\n  npx wrangler versions deploy ${after}@100% --yes --name ${plan.worker}`,
    );
    await watch(account, plan.worker, shift);
  } catch (error) {
    if (!(error instanceof DeployError)) throw error;
    await setShares(account, plan, { [before]: ALL });
    throw new DeployError(`${error.message}\nThe version before (${before}) has all traffic again.`);
  }
  await setShares(account, plan, { [after]: ALL });
  // Domains, cron and queue consumers belong to no version.
  await runWrangler('triggers', 'deploy', '--config', config);
  console.log(`All traffic goes to the new version ${after}.`);
}

async function setShares(account: Account, plan: DeployPlan, shares: Readonly<Record<string, number>>): Promise<void> {
  const versions: Share[] = Object.entries(shares).map(([version_id, percentage]) => ({ version_id, percentage }));
  const { code_update_strategy } = plan.config.durable_objects as { code_update_strategy?: unknown };
  const body = { strategy: 'percentage', versions, code_update_strategy };
  await callApi(account.access, 'POST', `${scriptPath(account, plan.worker)}/deployments`, body);
}

/**
 * Asks the new version itself for its health. The header chooses it, also while it has no traffic.
 * https://developers.cloudflare.com/workers/versions-and-deployments/version-overrides/
 */
async function expectHealth(worker: string, { origin, after }: Shift): Promise<void> {
  const headers = { 'cloudflare-workers-version-overrides': `${worker}="${after}"` };
  for (let attempt = 1; ; attempt++) {
    const report = await fetch(`${origin}/v1/health`, { headers, signal: AbortSignal.timeout(30_000) })
      .then(async (answer) => ({ isWell: answer.ok, text: (await answer.text()).trim() }))
      .catch((error: unknown) => ({ isWell: false, text: reasonOf(error) }));
    const isNew = report.text.includes(`"version_id":"${after}"`);
    if (isNew && report.isWell) return console.log(`The health of the new version: ${report.text}`);
    if (isNew) throw new DeployError(`The new version is not well: ${report.text}`);
    if (attempt === HEALTH_ATTEMPTS)
      throw new DeployError(`The new version does not answer at ${origin}/v1/health: ${report.text}`);
    await pause(PAUSE_MS);
  }
}

/** Looks at the errors of both versions each minute, and at the end. @throws DeployError if the new version fails. */
async function watch(account: Account, worker: string, shift: Shift): Promise<void> {
  const since = Date.now();
  for (let minute = 0; ; minute++) {
    if (minute > 0) await pause(MINUTE_MS);
    await expectHealth(worker, shift);
    const counts = await readCounts(account, shift.dataset, since);
    const text = typeof counts === 'string' ? counts : describeCounts(counts, shift);
    console.log(`${minute} of ${shift.watchMinutes} minutes: ${text}`);
    const fault = typeof counts === 'string' ? null : judgeVersions(counts, shift);
    if (fault !== null) throw new DeployError(fault);
    if (minute >= shift.watchMinutes) return;
  }
}

function describeCounts(counts: VersionCounts, { before, after }: Shift): string {
  const of = (id: string) => `${counts[id]?.failed ?? 0} of ${counts[id]?.requests ?? 0} requests failed`;
  return `new version: ${of(after)}; version before: ${of(before)}`;
}
