/** Names, regions and configuration of a deployment. Pure: receives the content of wrangler.toml and makes no calls. */

import { type DatabaseKind, listDatabases, PREFIX, toResourceName } from './numbered-databases.ts';
import { isWebsiteApart } from './website-hosts.ts';

export const REGIONS = ['wnam', 'enam', 'weur', 'eeur', 'apac', 'oc'] as const;
export type Region = (typeof REGIONS)[number];

/**
 * The nearest other region of each region. The second bucket is there, so that the two copies of the bytes do not share a region.
 */
const NEAREST: Readonly<Record<Region, Region>> = {
  wnam: 'enam',
  enam: 'wnam',
  weur: 'eeur',
  eeur: 'weur',
  apac: 'oc',
  oc: 'apac',
};

/** The part of wrangler.toml that a deployment reads or replaces. */
interface QueueConsumer {
  queue: string;
  dead_letter_queue?: string;
  max_concurrency?: number;
}

export interface WorkerConfig {
  name: string;
  vars: Record<string, string>;
  d1_databases: { binding: string; database_name: string; database_id: string; migrations_dir: string }[];
  r2_buckets: { binding: string; bucket_name: string; jurisdiction?: string }[];
  queues: { producers: { queue: string }[]; consumers: QueueConsumer[] };
  ratelimits: { name: string; namespace_id: string; simple: { limit: number; period: number } }[];
  analytics_engine_datasets: { binding: string; dataset: string }[];
  [section: string]: unknown;
}

export interface DeployPlan {
  readonly worker: string;
  readonly hosts: readonly string[];
  /** Databases to create. They and the first bucket are near HOME_REGION. Region undefined: Cloudflare chooses. */
  readonly databases: readonly {
    readonly binding: string;
    readonly name: string;
    readonly region: Region | undefined;
  }[];
  readonly buckets: readonly { readonly name: string; readonly region: Region | undefined }[];
  readonly queues: readonly string[];
  /**
   * Cloudflare jurisdiction of all stores, such as `eu`; '' for none. With a jurisdiction no region can be chosen, because
   * Cloudflare accepts only one of the two.
   */
  readonly jurisdiction: string;
  /** Configuration for wrangler, still without the ids of the databases. */
  readonly config: WorkerConfig;
}

interface PlanInput {
  readonly environment: string;
  readonly accountId: string;
  /** Numbers of shards and user databases. */
  readonly databases: Readonly<Record<DatabaseKind, number>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly homeRegion: Region | '';
  readonly secondRegion: Region | '';
  /** Region of a third location of bytes, or '' for none. */
  readonly thirdRegion: Region | '';
  /** Number of locations (buckets for bytes) that exist already. A third one stays bound even if the settings no longer name it. */
  readonly existingLocations: number;
  /** Limits of those rate limiters that settings determine, by the name of the limiter's binding. */
  readonly rateLimits: Readonly<Record<string, number>>;
}

/** Queue of outgoing mail, whose consumers MAIL_CONSUMERS limits. */
const MAIL_QUEUE = `${PREFIX}-mail-outbound`;
const THIRD_BUCKET = `${PREFIX}-blobs-3`;

/**
 * Makes the namespace id of a rate limiter in an environment. Cloudflare counts rates per namespace id in the whole account, so
 * each environment has ids of its own.
 */
function toNamespaceId(id: string, environment: string): string {
  if (environment === '') return id;
  let hash = 0;
  for (const letter of environment) hash = (hash * 31 + letter.charCodeAt(0)) % 200_000;
  return String(10_000 * (hash + 1) + Number(id));
}

/**
 * Plans a deployment.
 * @param config the content of wrangler.toml; it is not changed.
 * @throws Error if a resource name lacks the common prefix.
 */
export function planDeployment(config: WorkerConfig, input: PlanInput): DeployPlan {
  const { environment, variables } = input;
  const rename = (name: string): string => toResourceName(name, environment);
  const rendered = structuredClone(config);
  rendered.name = rename(config.name);
  // Turn off the addresses under workers.dev, because the Worker answers only at its own hosts. wrangler warns if these two are not
  // set.
  Object.assign(rendered, { workers_dev: false, preview_urls: false });
  // The Durable Objects of a season talk to each other and to DIRECTORY, so they are in the same region unless a setting says
  // otherwise.
  rendered.vars = { ...config.vars, LEADERBOARD_LOCATION: input.homeRegion, ...variables };
  rendered.d1_databases = addDatabases(config.d1_databases, input.databases).map((database) => ({
    ...database,
    database_name: rename(database.database_name),
  }));
  const { JURISDICTION: jurisdiction = '' } = variables;
  if (input.thirdRegion !== '' || input.existingLocations > 2)
    rendered.r2_buckets.push({ binding: 'BLOBS_3', bucket_name: THIRD_BUCKET });
  for (const bucket of rendered.r2_buckets) {
    bucket.bucket_name = rename(bucket.bucket_name);
    if (jurisdiction !== '') bucket.jurisdiction = jurisdiction;
  }
  for (const producer of rendered.queues.producers) producer.queue = rename(producer.queue);
  for (const consumer of rendered.queues.consumers) {
    if (consumer.queue === MAIL_QUEUE && variables.MAIL_CONSUMERS)
      consumer.max_concurrency = Number(variables.MAIL_CONSUMERS);
    consumer.queue = rename(consumer.queue);
    if (consumer.dead_letter_queue) consumer.dead_letter_queue = rename(consumer.dead_letter_queue);
  }
  for (const limiter of rendered.ratelimits) {
    limiter.namespace_id = toNamespaceId(limiter.namespace_id, environment);
    limiter.simple.limit = input.rateLimits[limiter.name] ?? limiter.simple.limit;
  }
  for (const counters of rendered.analytics_engine_datasets) {
    counters.dataset = rename(counters.dataset).replaceAll('-', '_');
    rendered.vars.ANALYTICS_DATASET = counters.dataset;
  }
  rendered.vars.ANALYTICS_URL ||= `https://api.cloudflare.com/client/v4/accounts/${input.accountId}/analytics_engine/sql`;
  rendered.vars.MAIL_API_URL ||= `https://api.cloudflare.com/client/v4/accounts/${input.accountId}/email/sending`;
  if (isWebsiteApart(variables.APP_HOST, variables.S3_HOST)) rendered.vars.WEBSITE_SCRIPTS ||= 'true';
  const hosts = [variables.APP_HOST, variables.S3_HOST].filter((host) => host !== undefined);
  rendered.routes = hosts.map((pattern) => ({ pattern, custom_domain: true }));
  const home = (jurisdiction === '' && input.homeRegion) || undefined;
  const second = (jurisdiction === '' && input.secondRegion) || (home && NEAREST[home]);
  const third = (jurisdiction === '' && input.thirdRegion) || undefined;
  const regions = [home, second, third].slice(0, rendered.r2_buckets.length);
  // The variable is set only if all regions are known. If Cloudflare chose the region of a bucket, it is not.
  if (regions.every((region) => region !== undefined)) rendered.vars.LOCATION_REGIONS ||= regions.join(',');
  const { producers, consumers } = rendered.queues;
  return {
    worker: rendered.name,
    jurisdiction,
    hosts,
    databases: rendered.d1_databases.map(({ binding, database_name }) => ({
      binding,
      name: database_name,
      region: home,
    })),
    buckets: rendered.r2_buckets.map(({ bucket_name }, at) => ({
      name: bucket_name,
      region: regions[at],
    })),
    queues: [
      ...new Set([
        ...producers.map(({ queue }) => queue),
        ...consumers.flatMap(({ queue, dead_letter_queue }) => [queue, dead_letter_queue ?? queue]),
      ]),
    ],
    config: rendered,
  };
}

/** What a deployment with two buckets prints. The numbers are those of docs/design/quorum.md. */
export const THIRD_BUCKET_OFFER =
  'With two buckets an upload needs both: 99.8 % succeed if each answers 99.9 % of the requests. A third bucket (THIRD_REGION) with WRITE_QUORUM=2 makes it 99.9997 %.';

/** Adds the databases beyond the first one of each kind. They have the same folder of migrations as the first one. */
function addDatabases(
  configured: WorkerConfig['d1_databases'],
  totals: PlanInput['databases'],
): WorkerConfig['d1_databases'] {
  const bound = new Set(configured.map(({ binding }) => binding));
  const added = (['OBJECTS', 'DIRECTORY'] as const).flatMap((kind) => {
    const [first, ...others] = listDatabases(kind, totals[kind]);
    const base = configured.find(({ binding }) => binding === first?.binding);
    if (!base) throw new Error(`wrangler.toml: no database is bound as ${first?.binding}.`);
    return others.map(({ binding, name }) => ({ ...base, binding, database_name: name }));
  });
  return [...configured, ...added.filter(({ binding }) => !bound.has(binding))];
}

/** Returns the number of locations of bytes that this deployment has. */
export const countLocations = (existing: ReadonlySet<string>, environment: string): number =>
  existing.has(toResourceName(THIRD_BUCKET, environment)) ? 3 : 2;

/** Renders the configuration for wrangler. @returns its text, with the ids of this account's databases. */
export function renderConfig(plan: DeployPlan, databaseIds: ReadonlyMap<string, string>): string {
  const d1_databases = plan.config.d1_databases.map((database) => ({
    ...database,
    database_id: databaseIds.get(database.database_name),
  }));
  // Leave out empty variables: they have no effect, but wrangler prints each of them.
  const vars = Object.fromEntries(Object.entries(plan.config.vars).filter(([, value]) => value !== ''));
  return `${JSON.stringify({ ...plan.config, vars, d1_databases }, null, 2)}\n`;
}
