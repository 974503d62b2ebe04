/**
 * Finds live DNS records and custom domains of other Workers that a deployment would replace. On a terminal, wrangler asks
 * before it replaces them. Elsewhere it replaces them without asking (`publishCustomDomains`).
 */

export interface ApiAccess {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly token: string;
}

export interface DomainConflict {
  readonly hostname: string;
  /** Predicate of a sentence that starts with the host name. */
  readonly reason: string;
}

/** An error response of the Cloudflare API. The message is one sentence. */
export class ApiError extends Error {
  readonly status: number;
  readonly codes: readonly number[];
  constructor(message: string, status: number, codes: readonly number[]) {
    super(message);
    this.status = status;
    this.codes = codes;
  }
}

const TIMEOUT_MS = 30_000;
/** Cloudflare's error code for "This Worker does not exist on your account." */
const UNKNOWN_SCRIPT_CODE = 10007;

interface Envelope<T> {
  readonly success?: boolean;
  readonly result?: T;
  readonly errors?: readonly { readonly code?: number; readonly message?: string }[];
}

async function callApi<T>(access: ApiAccess, path: string, body?: unknown): Promise<T> {
  const response = await fetch(access.baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${access.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const envelope = (await response.json().catch(() => ({}))) as Envelope<T>;
  if (response.ok && envelope.success && envelope.result !== undefined) return envelope.result;
  const errors = envelope.errors ?? [];
  const reasons = errors.map(({ message, code }) => `${message ?? 'no message'} (${code ?? 'no code'})`).join('; ');
  throw new ApiError(
    `Cloudflare answered ${response.status} to ${path.split('?')[0]}: ${reasons || 'no reason given'}.`,
    response.status,
    errors.flatMap(({ code }) => code ?? []),
  );
}

/** @returns the id of the token's only account. @throws ApiError if the token sees several accounts or none. */
export async function findAccountId(access: ApiAccess): Promise<string> {
  const accounts = await callApi<{ id: string; name: string }[]>(access, '/accounts?per_page=50');
  const [account] = accounts;
  if (accounts.length === 1 && account) return account.id;
  const list = accounts.map(({ id, name }) => `\n  ${id}  ${name}`).join('');
  const reason = accounts.length === 0 ? 'sees no account' : `sees ${accounts.length} accounts`;
  throw new ApiError(`The token ${reason}. Set CLOUDFLARE_ACCOUNT_ID to the one to deploy to.${list}`, 200, []);
}

/** @returns the records and domains that a deployment of these hosts would take over; empty if there are none. @throws ApiError */
export async function findDomainConflicts(
  access: ApiAccess,
  accountId: string,
  worker: string,
  hostnames: readonly string[],
): Promise<DomainConflict[]> {
  const domains = await callApi<{ hostname: string; service: string }[]>(
    access,
    `/accounts/${accountId}/workers/domains`,
  );
  const serviceOf = new Map(domains.map(({ hostname, service }) => [hostname, service]));
  const conflicts: DomainConflict[] = hostnames.flatMap((hostname) => {
    const service = serviceOf.get(hostname);
    if (service === undefined || service === worker) return [];
    return [{ hostname, reason: `is a custom domain of the Worker "${service}"` }];
  });
  const others = await findByChangeset(access, accountId, worker, hostnames, serviceOf);
  return [...conflicts, ...others.filter((other) => !conflicts.some(({ hostname }) => hostname === other.hostname))];
}

interface Changeset {
  readonly updated?: readonly { readonly hostname: string; readonly modified?: boolean }[];
  readonly conflicting?: readonly { readonly hostname: string }[];
}

const DNS_RECORD = 'has a DNS record';

/** Sends the same request as wrangler. Before the first deployment the Worker does not exist, so the DNS zones are queried instead. */
async function findByChangeset(
  access: ApiAccess,
  accountId: string,
  worker: string,
  hostnames: readonly string[],
  serviceOf: ReadonlyMap<string, string>,
): Promise<DomainConflict[]> {
  const path = `/accounts/${accountId}/workers/scripts/${worker}/domains/changeset?replace_state=true`;
  const origins = hostnames.map((hostname) => ({ hostname }));
  try {
    const { updated = [], conflicting = [] } = await callApi<Changeset>(access, path, origins);
    const foreign = updated.filter(({ hostname, modified }) => modified && serviceOf.get(hostname) !== worker);
    return [
      ...foreign.map(({ hostname }) => ({ hostname, reason: 'is a custom domain of another Worker' })),
      ...conflicting.map(({ hostname }) => ({ hostname, reason: DNS_RECORD })),
    ];
  } catch (error) {
    if (!(error instanceof ApiError) || !error.codes.includes(UNKNOWN_SCRIPT_CODE)) throw error;
    return findDnsRecords(access, accountId, hostnames);
  }
}

async function findDnsRecords(
  access: ApiAccess,
  accountId: string,
  hostnames: readonly string[],
): Promise<DomainConflict[]> {
  const conflicts: DomainConflict[] = [];
  for (const hostname of hostnames) {
    const zoneId = await findZoneId(access, accountId, hostname);
    const query = new URLSearchParams({ name: hostname });
    const records = await callApi<unknown[]>(access, `/zones/${zoneId}/dns_records?${query}`);
    if (records.length > 0) conflicts.push({ hostname, reason: DNS_RECORD });
  }
  return conflicts;
}

/** @returns the id of the zone with the longest name that contains the host. @throws ApiError if there is none. */
async function findZoneId(access: ApiAccess, accountId: string, hostname: string): Promise<string> {
  for (let name = hostname; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    const query = new URLSearchParams({ name, 'account.id': accountId });
    const [zone] = await callApi<{ id: string }[]>(access, `/zones?${query}`);
    if (zone) return zone.id;
  }
  throw new ApiError(`${hostname} is not in any zone of this account that the token can read.`, 200, []);
}
