/** Finds and creates the resources of a deployment: databases, buckets and queues. Never changes an existing one. */
import { type ApiAccess, ApiError, callApi, DeployError, describeMissingPermission } from './cloudflare-api.ts';
import { UNKNOWN_SCRIPT_CODE } from './domain-conflicts.ts';
import type { DeployPlan } from './plan.ts';

export interface Account {
  readonly access: ApiAccess;
  readonly accountId: string;
}

export interface Resources {
  /** Ids of the databases, by name. */
  readonly databases: Map<string, string>;
  readonly buckets: Set<string>;
  readonly queues: Map<string, Queue>;
  /** Names of the deployed Worker's secrets. Undefined before the first deployment. */
  readonly secrets: readonly string[] | undefined;
  /** Jurisdiction of the existing resources; '' if they have none. Undefined if no resource exists. */
  readonly jurisdiction: string | undefined;
}

export interface Queue {
  readonly queue_id: string;
  readonly queue_name: string;
  readonly consumers?: readonly { readonly consumer_id: string; readonly script?: string; readonly service?: string }[];
}

const PER_PAGE = 100;
/** Limit of pages, in case an endpoint ignores `page` and never returns an empty one. */
const PAGES_MAX = 100;

/** Calls a list endpoint until a page is empty. Not every endpoint honours `per_page`, so a short page may not be the last. */
export async function listPages<T>({ access }: Account, path: string): Promise<T[]> {
  const rows: T[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const rowsOfPage = await callApi<T[]>(access, 'GET', `${path}?page=${page}&per_page=${PER_PAGE}`);
    rows.push(...rowsOfPage);
    if (rowsOfPage.length === 0) break;
  }
  return rows;
}

/** Makes the header that requests for R2 buckets of a jurisdiction need. Without it these buckets are not found. */
export const toJurisdictionHeaders = (jurisdiction: string): Record<string, string> =>
  jurisdiction === '' ? {} : { 'cf-r2-jurisdiction': jurisdiction };

async function listBuckets({ access, accountId }: Account, jurisdiction: string): Promise<Set<string>> {
  const names = new Set<string>();
  for (let cursor = ''; ; ) {
    const query = `per_page=1000${cursor && `&start_after=${cursor}`}`;
    const path = `/accounts/${accountId}/r2/buckets?${query}`;
    const headers = toJurisdictionHeaders(jurisdiction);
    const { buckets } = await callApi<{ buckets: { name: string }[] }>(access, 'GET', path, undefined, headers);
    for (const { name } of buckets) names.add(name);
    const last = buckets.at(-1);
    if (buckets.length < 1000 || !last) return names;
    cursor = last.name;
  }
}

async function listSecrets({ access, accountId }: Account, worker: string): Promise<string[] | undefined> {
  const path = `/accounts/${accountId}/workers/scripts/${worker}/secrets`;
  try {
    return (await callApi<{ name: string }[]>(access, 'GET', path)).map(({ name }) => name);
  } catch (error) {
    // Only "unknown script" means that there are no secrets yet. Other failures must not count as that.
    if (error instanceof ApiError && error.codes.includes(UNKNOWN_SCRIPT_CODE)) return undefined;
    throw error;
  }
}

/**
 * Lists the account's resources. This also checks the permissions before anything changes.
 * @throws DeployError that names every missing permission.
 */
export async function listResources(account: Account, worker: string, wanted: string): Promise<Resources> {
  const root = `/accounts/${account.accountId}`;
  const [databases, buckets, queues, secrets] = await settlePermissions([
    listPages<{ name: string; uuid: string }>(account, `${root}/d1/database`),
    listBuckets(account, wanted),
    listPages<Queue>(account, `${root}/queues`),
    listSecrets(account, worker),
  ] as const);
  return {
    databases: new Map(databases.map(({ name, uuid }) => [name, uuid])),
    buckets,
    queues: new Map(queues.map((queue) => [queue.queue_name, queue])),
    secrets,
    jurisdiction: secrets && (await findJurisdiction(account, worker)),
  };
}

/** Finds the jurisdiction of the deployed Worker. @returns the value of its variable JURISDICTION, or ''. */
async function findJurisdiction({ access, accountId }: Account, worker: string): Promise<string> {
  const path = `/accounts/${accountId}/workers/scripts/${worker}/settings`;
  const { bindings } = await callApi<{ bindings: { name: string; text?: string }[] }>(access, 'GET', path);
  return bindings.find(({ name }) => name === 'JURISDICTION')?.text ?? '';
}

/**
 * Checks that the jurisdiction does not change.
 * @throws DeployError if the deployment would lose access to its data: each jurisdiction has its own mailboxes and leaderboards.
 */
export function refuseOtherJurisdiction({ jurisdiction, worker }: DeployPlan, resources: Resources): void {
  if (resources.jurisdiction === undefined || resources.jurisdiction === jurisdiction) return;
  throw new DeployError(
    `"${worker}" was deployed ${resources.jurisdiction === '' ? 'without JURISDICTION' : `with JURISDICTION=${resources.jurisdiction}`}, and it cannot change: mailboxes and leaderboards would be empty. Nothing was changed. Use --env for a second deployment and move the data.`,
  );
}

/**
 * Waits for all calls, so that one run names all missing permissions.
 * @throws DeployError that names them, or the first other error.
 */
async function settlePermissions<const T extends readonly Promise<unknown>[]>(
  calls: T,
): Promise<{ [Index in keyof T]: Awaited<T[Index]> }> {
  const outcomes = await Promise.allSettled(calls);
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const missing = failures.flatMap((error) => (error instanceof ApiError ? (error.permission ?? []) : []));
  if (missing.length > 1)
    throw new DeployError(
      `The API token lacks the permissions ${missing.map((name) => `"${name}"`).join(', ')}. Add them at https://dash.cloudflare.com/profile/api-tokens and run the command again.`,
    );
  if (missing[0]) throw new DeployError(describeMissingPermission(missing[0]));
  if (failures.length > 0) throw failures[0];
  return (await Promise.all(calls)) as { [Index in keyof T]: Awaited<T[Index]> };
}

/** Checks the queues. @throws DeployError if a queue that this deployment consumes delivers to another Worker. */
export function refuseForeignConsumers(plan: DeployPlan, resources: Resources): void {
  for (const { queue: name } of plan.config.queues.consumers)
    for (const { script, service } of resources.queues.get(name)?.consumers ?? []) {
      const consumer = script ?? service;
      if (consumer && consumer !== plan.worker)
        throw new DeployError(
          `The queue ${name} delivers to the Worker "${consumer}", not to "${plan.worker}". Nothing was changed. Two Workers must not share queues; use --env for a second deployment.`,
        );
    }
}

interface Step {
  /** Description of the resource that completes the sentence "create …". */
  readonly what: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Plans the missing resources. @returns the requests that create them, in order. */
export function listMissing(plan: DeployPlan, resources: Resources): Step[] {
  const { jurisdiction } = plan;
  const inside = jurisdiction === '' ? {} : { jurisdiction };
  const inRegion = (region: string | undefined): string => {
    const place = jurisdiction.toUpperCase() || region;
    return place ? ` in ${place}` : '';
  };
  const databases = plan.databases.filter(({ name }) => !resources.databases.has(name));
  const buckets = plan.buckets.filter(({ name }) => !resources.buckets.has(name));
  const queues = plan.queues.filter((name) => !resources.queues.has(name));
  return [
    ...databases.map(({ name, region }) => ({
      what: `database ${name}${inRegion(region)}`,
      path: '/d1/database',
      body: { name, ...(region && { primary_location_hint: region }), ...inside },
    })),
    ...buckets.map(({ name, region }) => ({
      what: `bucket ${name}${inRegion(region)}`,
      path: '/r2/buckets',
      body: { name, ...(region && { locationHint: region }) },
      headers: toJurisdictionHeaders(jurisdiction),
    })),
    ...queues.map((queue_name) => ({
      what: `queue ${queue_name}${inRegion(undefined)}`,
      path: '/queues',
      body: { queue_name, ...inside },
    })),
  ];
}

/** Cloudflare's code for "R2 is not enabled": the account has to accept the terms of R2 once, in the dashboard. */
const R2_DISABLED_CODE = 10042;

/** Creates the missing resources. @returns the ids of all databases by name. */
export async function createMissing(account: Account, plan: DeployPlan, resources: Resources) {
  const ids = new Map(resources.databases);
  for (const { what, path, body, headers } of listMissing(plan, resources)) {
    const created = await callApi<{ name?: string; uuid?: string }>(
      account.access,
      'POST',
      `/accounts/${account.accountId}${path}`,
      body,
      headers,
    ).catch((error: unknown) => {
      if (error instanceof ApiError && error.codes.includes(R2_DISABLED_CODE))
        throw new DeployError(
          `R2 is not enabled in this account. Enable it at https://dash.cloudflare.com/${account.accountId}/r2 and run the command again.`,
        );
      throw error;
    });
    if (created.name && created.uuid) ids.set(created.name, created.uuid);
    console.log(`created ${what}`);
  }
  return ids;
}

/** Turns on read replication, so that D1 serves reads from replicas near the clients. */
export async function enableReadReplication({ access, accountId }: Account, ids: Iterable<string>): Promise<void> {
  for (const id of ids) {
    const path = `/accounts/${accountId}/d1/database/${id}`;
    const { read_replication } = await callApi<{ read_replication?: { mode: string } }>(access, 'GET', path);
    if (read_replication?.mode !== 'auto') await callApi(access, 'PUT', path, { read_replication: { mode: 'auto' } });
  }
}
