/** Describes the changes of an upgrade, and how to return to the previous version. */
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../local/build.ts';
import { git, readCommit } from '../local/commit.ts';
import { callApi, DeployError } from './cloudflare-api.ts';
import type { DeployPlan } from './plan.ts';
import type { Account } from './resources.ts';

/**
 * Makes arguments for wrangler.
 * @returns arguments that tag a deployment with its commit, so that health names it and an upgrade can list the changes since.
 */
export function tagArguments(): string[] {
  const commit = readCommit();
  return commit ? ['--tag', commit] : [];
}

export interface DeployedVersion {
  readonly id: string;
  /** Commit of the running deployment. Undefined if that was deployed without this script. */
  readonly commit: string | undefined;
  /** Whether another version has a share of the traffic. */
  readonly isSplit: boolean;
}

/** The share of one version in a deployment. */
export interface Share {
  readonly version_id: string;
  readonly percentage: number;
}

/** Finds the version with the most traffic. @returns undefined if the Worker was never deployed. */
export async function findDeployedVersion(account: Account, worker: string): Promise<DeployedVersion | undefined> {
  const root = `/accounts/${account.accountId}/workers/scripts/${worker}`;
  const { deployments } = await callApi<{ deployments: { versions: Share[] }[] }>(
    account.access,
    'GET',
    `${root}/deployments`,
  );
  const served = [...(deployments[0]?.versions ?? [])].sort((a, b) => b.percentage - a.percentage);
  const id = served[0]?.version_id;
  if (!id) return undefined;
  const { annotations } = await callApi<{ annotations?: Record<string, string> }>(
    account.access,
    'GET',
    `${root}/versions/${id}`,
  );
  return {
    id,
    commit: annotations?.['workers/tag'],
    isSplit: served.filter(({ percentage }) => percentage > 0).length > 1,
  };
}

/**
 * Finds pending migrations.
 * @returns for each database, the migrations that are not applied yet. A database that does not exist yet needs all of them.
 */
export async function listPendingMigrations(
  account: Account,
  plan: DeployPlan,
  databaseIds: ReadonlyMap<string, string>,
): Promise<Map<string, string[]>> {
  const pending = new Map<string, string[]>();
  for (const { database_name, migrations_dir } of plan.config.d1_databases) {
    const files = readdirSync(join(ROOT, migrations_dir)).filter((name) => name.endsWith('.sql'));
    const id = databaseIds.get(database_name);
    const applied = id ? await listApplied(account, id) : [];
    pending.set(database_name, files.filter((name) => !applied.includes(name)).sort());
  }
  return pending;
}

async function listApplied({ access, accountId }: Account, id: string): Promise<string[]> {
  type Rows = { results: { name: string }[] }[];
  const query = (sql: string) =>
    callApi<Rows>(access, 'POST', `/accounts/${accountId}/d1/database/${id}/query`, { sql });
  const [tables] = await query("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'd1_migrations'");
  if (!tables?.results.length) return [];
  const [rows] = await query('SELECT name FROM d1_migrations');
  return rows?.results.map(({ name }) => name) ?? [];
}

/**
 * Prints the changes of the upgrade and notes the present state. Changes nothing.
 * @param configPath path of the configuration that has the real ids of the databases: those in wrangler.toml are placeholders.
 * @returns a function that prints how to return to the noted state.
 * @throws DeployError if the Worker was never deployed.
 */
export async function prepareUpgrade(
  account: Account,
  plan: DeployPlan,
  databaseIds: ReadonlyMap<string, string>,
  { isDeployed, configPath }: { readonly isDeployed: boolean; readonly configPath: string },
): Promise<() => void> {
  if (!isDeployed) throw new DeployError(`The Worker "${plan.worker}" is not deployed. Run npm run deploy first.`);
  const version = await findDeployedVersion(account, plan.worker);
  const changes = version?.commit && git('log', '--oneline', '--no-decorate', `${version.commit}..HEAD`);
  if (changes === undefined || !version?.commit)
    console.log('The deployed commit is unknown: see CHANGELOG.md for the changes.');
  else console.log(changes ? `Changes since ${version.commit}:\n${changes}` : `${version.commit} is deployed already.`);
  for (const [name, files] of await listPendingMigrations(account, plan, databaseIds))
    console.log(files.length > 0 ? `Migrations of ${name}: ${files.join(', ')}` : `Migrations of ${name}: none`);
  const bookmarks = new Map<string, string>();
  for (const { name } of plan.databases) {
    const id = databaseIds.get(name);
    if (id) bookmarks.set(name, await findBookmark(account, id));
  }
  const added = plan.databases.filter(({ name }) => !bookmarks.has(name)).map(({ binding }) => binding);
  return () => console.log(describeWayBack(plan.worker, relative(ROOT, configPath), version, { bookmarks, added }));
}

async function findBookmark({ access, accountId }: Account, id: string): Promise<string> {
  const path = `/accounts/${accountId}/d1/database/${id}/time_travel/bookmark`;
  return (await callApi<{ bookmark: string }>(access, 'GET', path)).bookmark;
}

function describeWayBack(
  worker: string,
  config: string,
  version: DeployedVersion | undefined,
  { bookmarks, added }: { readonly bookmarks: ReadonlyMap<string, string>; readonly added: readonly string[] },
): string {
  const restores = [...bookmarks].map(
    ([name, bookmark]) => `  npx wrangler d1 time-travel restore ${name} --bookmark=${bookmark} --config ${config}`,
  );
  return [
    'To go back to the version before, in this folder:',
    `  npx wrangler rollback ${version?.id ?? '<version id>'} --name ${worker}`,
    'If the old version does not run on the new schema, restore the databases too. Later changes in them are lost, unless the version that',
    'runs then can replay them: see "Roll back" in docs/operations.md.',
    ...restores,
    'Migrations of Durable Objects (mailboxes, leaderboards) cannot be rolled back. wrangler refuses a rollback across a',
    'new migration tag in wrangler.toml.',
    ...(added.length === 0
      ? []
      : [
          `The version before does not have ${added.join(', ')}. Do not go back once data is in them: that version cannot read it.`,
        ]),
  ].join('\n');
}
