/** State of the stand-in for Cloudflare's API. */
import { DatabaseSync } from 'node:sqlite';

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
  tag: string | undefined;
}

export interface StoredQueue {
  readonly queue_id: string;
  readonly queue_name: string;
  readonly jurisdiction?: string | undefined;
  readonly consumers: { consumer_id: string; type: string; script: string }[];
}

export interface StoredDatabase {
  readonly uuid: string;
  readonly name: string;
  readonly region: string | undefined;
  readonly jurisdiction: string | undefined;
  readonly sql: DatabaseSync;
  replication: string;
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
  /** Patterns of requests (`METHOD path`) that the token may not make. */
  readonly denied: RegExp[];
  /** Number of requests to the hosts of the deployment that end without an answer, as before a certificate exists. */
  requestsBeforeCertificate: number;
  health: { status: number; body: string };
  readonly emailRouting: { isEnabled: boolean; catchAll: { enabled: boolean; actions: unknown[] } };
  urlNormalization: { scope: string; type: string };
  rules: { ref?: string; expression: string; action_parameters: unknown }[] | undefined;
}

export const newScript = (): Script => ({ bindings: [], secrets: new Map(), uploads: 0, tag: undefined });

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

export const newState = (): CloudflareState => ({
  accounts: [{ id: ACCOUNT_ID, name: 'Test' }],
  domains: new Map(),
  records: [],
  scripts: new Map(),
  databases: new Map(),
  buckets: new Map(),
  queues: new Map(),
  denied: [],
  requestsBeforeCertificate: 0,
  health: { status: 200, body: '{"status":"ok"}' },
  emailRouting: { isEnabled: false, catchAll: { enabled: false, actions: [{ type: 'drop' }] } },
  urlNormalization: { scope: 'incoming', type: 'cloudflare' },
  rules: undefined,
});
