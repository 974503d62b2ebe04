/** State of the stand-in for Cloudflare's API. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');

export const ACCOUNT_ID = 'a'.repeat(32);
export const ZONE_ID = 'b'.repeat(32);

export interface DnsRecord {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly content: string;
}

export interface Script {
  /** Bindings of the Worker's last upload, without secrets. */
  bindings: { readonly name: string; readonly type: string; readonly [field: string]: unknown }[];
  readonly secrets: Map<string, string>;
  uploads: number;
  /** Versions, oldest first. */
  readonly versions: StoredVersion[];
  /** Deployments, newest first. */
  readonly deployments: StoredDeployment[];
  /** Tag of the last migration of object classes. wrangler sends only later ones, and takes another path if there are none. */
  migrationTag: string | undefined;
}

export interface StoredVersion {
  readonly id: string;
  /** The commit, which `npm run deploy` sets. */
  tag: string | undefined;
  /** Tag of the migrations of object classes that the version was uploaded with. */
  readonly migrationTag: string | undefined;
}

export interface StoredDeployment {
  readonly id: string;
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[];
}

export interface StoredQueue {
  readonly queue_id: string;
  readonly queue_name: string;
  readonly jurisdiction?: string | undefined;
  readonly consumers: { consumer_id: string; type: string; script: string }[];
}

export interface StoredSubscription {
  readonly id: string;
  readonly name: string;
  enabled: boolean;
  events: readonly string[];
  readonly source: { readonly type: string; readonly zone_id: string; readonly domain: string };
  readonly destination: { readonly type: string; readonly queue_id: string };
}

export interface StoredDatabase {
  readonly uuid: string;
  readonly name: string;
  readonly region: string | undefined;
  readonly jurisdiction: string | undefined;
  readonly sql: DatabaseSync;
  replication: string;
}

export interface StoredRule {
  readonly ref?: string;
  readonly expression: string;
  readonly action_parameters: unknown;
}

export interface CloudflareState {
  readonly accounts: { id: string; name: string }[];
  /** Custom domains: the name of the Worker, by host name. */
  readonly domains: Map<string, string>;
  readonly records: DnsRecord[];
  readonly scripts: Map<string, Script>;
  readonly databases: Map<string, StoredDatabase>;
  /** Buckets: region and number of objects, by name. Names in a jurisdiction are `eu/name`. */
  readonly buckets: Map<string, { region: string | undefined; objects: number }>;
  readonly queues: Map<string, StoredQueue>;
  /** Domains that are enabled for sending. */
  readonly sendingDomains: Set<string>;
  readonly subscriptions: StoredSubscription[];
  /** Mail of the last 30 days, as Analytics Engine counts it. */
  readonly mailOfMonth: { recipients: number; messages: number };
  /** Patterns of requests (`METHOD path`) that the token may not make. */
  readonly denied: RegExp[];
  /** Number of requests to the hosts of the deployment that end without an answer, as before a certificate exists. */
  requestsBeforeCertificate: number;
  health: { status: number; body: string };
  /** Answers of health by the id of the version that a request names in its header. */
  readonly healthOf: Map<string, { status: number; body: string }>;
  /** Answers of Analytics Engine: requests of each version by outcome. */
  counted: { version: string; outcome: string; count: number }[];
  /** Answer of the analytics by GraphQL. */
  usage: unknown;
  readonly emailRouting: { isEnabled: boolean; catchAll: { enabled: boolean; actions: unknown[] } };
  urlNormalization: { scope: string; type: string };
  /** Rules of the zone by phase. A phase without a ruleset is missing. */
  readonly rules: Map<string, StoredRule[]>;
}

export const newScript = (): Script => ({
  bindings: [],
  secrets: new Map(),
  uploads: 0,
  versions: [],
  deployments: [],
  migrationTag: undefined,
});

export function newDatabase(name: string, region?: string, jurisdiction?: string): StoredDatabase {
  return {
    uuid: crypto.randomUUID(),
    name,
    region,
    jurisdiction,
    sql: new DatabaseSync(':memory:'),
    replication: 'disabled',
  };
}

/**
 * Makes the databases of an earlier deployment, with all migrations applied as wrangler applies them. A test that is not about
 * migrations begins with them, because each run of wrangler for one takes seconds.
 */
export const newMigratedDatabases = (worker: string): Map<string, StoredDatabase> =>
  new Map(
    Object.entries({ directory: 'directory', 'objects-0': 'objects' }).map(([end, kind]) => {
      const database = newDatabase(`${worker}-${end}`);
      database.sql.exec('CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE, applied_at TIMESTAMP)');
      const folder = join(MIGRATIONS, kind);
      for (const name of readdirSync(folder)
        .filter((file) => file.endsWith('.sql'))
        .sort()) {
        database.sql.exec(readFileSync(join(folder, name), 'utf8'));
        database.sql.prepare('INSERT INTO d1_migrations (name) VALUES (?)').run(name);
      }
      return [database.name, database];
    }),
  );

export const newState = (): CloudflareState => ({
  accounts: [{ id: ACCOUNT_ID, name: 'Test' }],
  domains: new Map(),
  records: [],
  scripts: new Map(),
  databases: new Map(),
  buckets: new Map(),
  queues: new Map(),
  sendingDomains: new Set(),
  subscriptions: [],
  mailOfMonth: { recipients: 0, messages: 0 },
  denied: [],
  requestsBeforeCertificate: 0,
  health: { status: 200, body: '{"status":"ok"}' },
  healthOf: new Map(),
  counted: [],
  usage: null,
  emailRouting: { isEnabled: false, catchAll: { enabled: false, actions: [{ type: 'drop' }] } },
  urlNormalization: { scope: 'incoming', type: 'cloudflare' },
  rules: new Map(),
});
