/**
 * A local HTTP stand-in for the part of Cloudflare's API that `npm run deploy` and the real wrangler call. It keeps created
 * resources and records every request. Endpoints and envelopes follow wrangler 4.155.0 and
 * https://developers.cloudflare.com/api.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export const ACCOUNT_ID = 'a'.repeat(32);
const ZONE_ID = 'b'.repeat(32);

export interface CloudflareState {
  readonly accounts: { id: string; name: string }[];
  /** Custom domains: host name → Worker. */
  readonly domains: Map<string, string>;
  /** Hosts with a DNS record. */
  readonly records: Set<string>;
  readonly scripts: Set<string>;
  readonly databases: Map<string, string>;
}

export interface CloudflareStandIn extends AsyncDisposable {
  readonly url: string;
  readonly state: CloudflareState;
  /** `METHOD path`, in order. */
  readonly requests: string[];
  /** Bodies of the requests that set custom domains. */
  readonly domainWrites: { override_existing_origin: boolean; override_existing_dns_record: boolean }[];
}

type Answer = {
  readonly status?: number;
  readonly result?: unknown;
  readonly code?: number;
  readonly message?: string;
};

export async function startCloudflare(): Promise<CloudflareStandIn> {
  const state: CloudflareState = {
    accounts: [{ id: ACCOUNT_ID, name: 'Test' }],
    domains: new Map(),
    records: new Set(),
    scripts: new Set(),
    databases: new Map(),
  };
  const requests: string[] = [];
  const domainWrites: CloudflareStandIn['domainWrites'] = [];
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const url = new URL(request.url ?? '/', 'http://stand-in');
    requests.push(`${request.method} ${url.pathname}`);
    if (request.method === 'PUT' && url.pathname.endsWith('/domains/records')) domainWrites.push(JSON.parse(body));
    const { status, result, code, message } = answer(state, request.method ?? 'GET', url, body);
    const isError = code !== undefined;
    response.writeHead(status ?? (isError ? 400 : 200), { 'content-type': 'application/json' });
    const errors = isError ? [{ code, message }] : [];
    const result_info = { page: 1, per_page: 50, count: 0, total_count: 0, total_pages: 1 };
    response.end(JSON.stringify({ success: !isError, errors, messages: [], result: result ?? null, result_info }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    requests,
    domainWrites,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

const UNKNOWN_SCRIPT: Answer = { status: 404, code: 10007, message: 'This Worker does not exist on your account.' };

function answer(state: CloudflareState, method: string, url: URL, body: string): Answer {
  const path = url.pathname.replace(`/accounts/${ACCOUNT_ID}`, '/A');
  const script = /^\/A\/workers\/(?:scripts|services)\/([^/]+)/.exec(path)?.[1] ?? '';
  const routes: [RegExp, () => Answer][] = [
    [/^GET \/accounts$/, () => ({ result: state.accounts })],
    [/^GET \/memberships$/, () => ({ result: state.accounts.map((account) => ({ id: account.id, account })) })],
    [/^GET \/user$/, () => ({ result: { id: 'user', email: 'test@example.com' } })],
    [/^GET \/user\/tokens\/verify$/, () => ({ result: { id: 'token', status: 'active' } })],
    [/^GET \/zones$/, () => findZone(url)],
    [/^GET \/zones\/[^/]+\/dns_records$/, () => findRecords(state, url)],
    [/^GET \/A\/d1\/database$/, () => ({ result: [...state.databases].map(([name, uuid]) => ({ name, uuid })) })],
    [/^POST \/A\/d1\/database$/, () => createDatabase(state, body)],
    [/^GET \/A\/d1\/database\/[^/]+$/, () => ({ result: {} })],
    [/^POST \/A\/d1\/database\/[^/]+\/(?:query|raw)$/, () => ({ result: [{ success: true, results: [], meta: {} }] })],
    [/^GET \/A\/r2\/buckets\/[^/]+$/, () => ({ result: {} })],
    [/^POST \/A\/r2\/buckets$/, () => ({ result: {} })],
    [
      /^GET \/A\/queues$/,
      () => ({ result: [{ queue_id: 'q', queue_name: url.searchParams.get('name'), consumers: [] }] }),
    ],
    [/^POST \/A\/queues$/, () => ({ result: { queue_id: 'q', queue_name: 'q' } })],
    [/^(?:GET|PUT|POST) \/A\/queues\//, () => ({ result: {} })],
    [/^GET \/A\/workers\/domains$/, () => listDomains(state)],
    [/^GET \/A\/workers\/domains\/records\/.*$/, () => findDomain(state, path)],
    [/^GET \/A\/workers\/subdomain$/, () => ({ result: { subdomain: 'test' } })],
    [/\/domains\/changeset$/, () => (state.scripts.has(script) ? toChangeset(state, script, body) : UNKNOWN_SCRIPT)],
    [/^PUT .*\/domains\/records$/, () => ({ result: [] })],
    [
      /^GET \/A\/workers\/scripts\/[^/]+\/secrets$/,
      () => (state.scripts.has(script) ? { result: [] } : UNKNOWN_SCRIPT),
    ],
    [/^GET \/A\/workers\/services\/[^/]+$/, () => (state.scripts.has(script) ? { result: SERVICE } : UNKNOWN_SCRIPT)],
    [/^GET .*\/deployments$/, () => ({ result: { deployments: [] } })],
    [/^GET .*\/settings$/, () => ({ result: { bindings: [] } })],
    [/\/assets-upload-session$/, () => ({ result: { jwt: 'done', buckets: [] } })],
    [/^(?:GET|PATCH) \/A\/workers\/workers\/[^/]+$/, () => ({ result: WORKER })],
    [/^PUT \/A\/workers\/scripts\/[^/]+$/, () => upload(state, script)],
    [/^(?:GET|PUT|POST|PATCH) \/A\/workers\/scripts\/[^/]+\//, () => ({ result: {} })],
  ];
  const route = routes.find(([pattern]) => pattern.test(`${method} ${path}`));
  return route ? route[1]() : { status: 404, code: 7003, message: `The stand-in does not implement ${method} ${path}` };
}

const WORKER = { name: 'tessera', subdomain: { enabled: false, previews_enabled: false }, observability: {}, tags: [] };
const SERVICE = {
  default_environment: { environment: 'production', script: { tag: 't', tags: [], last_deployed_from: 'wrangler' } },
};

function createDatabase(state: CloudflareState, body: string): Answer {
  const { name } = JSON.parse(body) as { name: string };
  const uuid = crypto.randomUUID();
  state.databases.set(name, uuid);
  return { result: { name, uuid } };
}

const findZone = (url: URL): Answer => ({
  result: url.searchParams.get('name') === 'example.com' ? [{ id: ZONE_ID, name: 'example.com' }] : [],
});

const findRecords = (state: CloudflareState, url: URL): Answer => ({
  result: state.records.has(url.searchParams.get('name') ?? '') ? [{ id: 'record', type: 'A' }] : [],
});

const listDomains = (state: CloudflareState): Answer => ({
  result: [...state.domains].map(([hostname, service]) => ({ id: hostname, hostname, service })),
});

function findDomain(state: CloudflareState, path: string): Answer {
  const hostname = path.slice(path.lastIndexOf('/') + 1);
  return { result: { id: hostname, hostname, service: state.domains.get(hostname) } };
}

function toChangeset(state: CloudflareState, script: string, body: string): Answer {
  const hosts = (JSON.parse(body) as { hostname: string }[]).map(({ hostname }) => hostname);
  const toEntry = (hostname: string) => ({ id: hostname, hostname });
  const owned = hosts.filter((host) => state.domains.has(host));
  const conflicting = hosts.filter((host) => state.records.has(host));
  return {
    result: {
      added: hosts.filter((host) => !owned.includes(host) && !conflicting.includes(host)).map(toEntry),
      removed: [],
      updated: owned.map((host) => ({ ...toEntry(host), modified: state.domains.get(host) !== script })),
      conflicting: conflicting.map(toEntry),
    },
  };
}

function upload(state: CloudflareState, script: string): Answer {
  state.scripts.add(script);
  return { result: { id: script, startup_time_ms: 100, deployment_id: 'd', tag: 't', default_environment: {} } };
}
