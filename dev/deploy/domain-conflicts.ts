/**
 * Finds live DNS records and custom domains of other Workers that a deployment would replace. On a terminal, wrangler asks
 * before it replaces them. Elsewhere it replaces them without asking (`publishCustomDomains`).
 */
import { type ApiAccess, ApiError, callApi, findZone } from './cloudflare-api.ts';

export interface DomainConflict {
  readonly hostname: string;
  /** Reason as the predicate of a sentence that starts with the host name. */
  readonly reason: string;
}

/** Cloudflare's error code for "This Worker does not exist on your account." */
export const UNKNOWN_SCRIPT_CODE = 10007;

/**
 * Finds what a deployment would replace.
 * @returns the records and domains that a deployment of these hosts would take over; empty if there are none.
 * @throws ApiError
 */
export async function findDomainConflicts(
  access: ApiAccess,
  accountId: string,
  worker: string,
  hostnames: readonly string[],
): Promise<DomainConflict[]> {
  const domains = await callApi<{ hostname: string; service: string }[]>(
    access,
    'GET',
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

/**
 * Asks Cloudflare in the same way as wrangler. Before the first deployment the Worker does not exist, so the DNS zones are queried
 * instead.
 */
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
    const { updated = [], conflicting = [] } = await callApi<Changeset>(access, 'POST', path, origins);
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
    const zone = await findZone(access, accountId, hostname);
    const query = new URLSearchParams({ name: hostname });
    const records = await callApi<unknown[]>(access, 'GET', `/zones/${zone.id}/dns_records?${query}`);
    if (records.length > 0) conflicts.push({ hostname, reason: DNS_RECORD });
  }
  return conflicts;
}
