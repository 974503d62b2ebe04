/** Client of Cloudflare's REST API for `npm run deploy`. An error names the permission that the token lacks. */

export interface ApiAccess {
  /** Origin and path of Cloudflare's API, without a trailing slash. */
  readonly baseUrl: string;
  readonly token: string;
}

/** Error that ends the deployment with a sentence instead of a stack trace. */
export class DeployError extends Error {}

/** An error response of the Cloudflare API. The message is one sentence. */
export class ApiError extends DeployError {
  readonly status: number;
  readonly codes: readonly number[];
  /** The permission that the token lacks, if that is the reason for the error. */
  readonly permission: string | undefined;
  constructor(message: string, status: number, codes: readonly number[], permission?: string) {
    super(message);
    this.status = status;
    this.codes = codes;
    this.permission = permission;
  }
}

const TIMEOUT_MS = 30_000;
/** Maximum page size of Cloudflare's list of accounts. */
const ACCOUNTS_MAX = 50;
/**
 * Cloudflare's codes for "Authentication error", "Unauthorized to access requested resource", and the same error of older
 * endpoints.
 */
const FORBIDDEN_CODES = [10000, 9109, 10405];

/** Permission of an API token that a path needs, as the dashboard names it. The first pattern that matches the path decides. */
const PERMISSIONS: readonly (readonly [RegExp, string])[] = [
  [/\/email\/sending/, 'Account > Email Sending > Edit'],
  [/\/event_subscriptions/, 'Account > Queues > Edit'],
  [/\/email\/routing\/rules/, 'Zone > Email Routing Rules > Edit'],
  [/\/email\/routing/, 'Zone > Zone Settings > Edit'],
  [/\/url_normalization/, 'Zone > Zone Settings > Edit'],
  [/\/rulesets\/.*compression/, 'Zone > Response Compression > Edit'],
  [/\/rulesets/, 'Zone > Transform Rules > Edit'],
  [/\/dns_records/, 'Zone > DNS > Edit'],
  [/\/d1\//, 'Account > D1 > Edit'],
  [/\/r2\//, 'Account > Workers R2 Storage > Edit'],
  [/\/queues/, 'Account > Queues > Edit'],
  [/\/workers\/domains|\/domains\/|\/routes/, 'Zone > Workers Routes > Edit'],
  [/\/workers\//, 'Account > Workers Scripts > Edit'],
  [/\/zones/, 'Zone > Zone > Read'],
  [/\/accounts|\/memberships/, 'Account > Account Settings > Read'],
];

/** Permissions of an API token that every deployment needs. */
export const REQUIRED_PERMISSIONS: readonly string[] = [
  'Account > Account Settings > Read',
  'Account > Workers Scripts > Edit',
  'Account > D1 > Edit',
  'Account > Workers R2 Storage > Edit',
  'Account > Queues > Edit',
  'Zone > Zone > Read',
  'Zone > Workers Routes > Edit',
  'Zone > DNS > Edit',
];

export const permissionFor = (path: string): string | undefined =>
  PERMISSIONS.find(([pattern]) => pattern.test(path))?.[1];

export const describeMissingPermission = (permission: string): string =>
  `The API token lacks the permission "${permission}". Add it at https://dash.cloudflare.com/profile/api-tokens and run the command again.`;

interface Envelope<T> {
  readonly success?: boolean;
  readonly result?: T;
  readonly errors?: readonly { readonly code?: number; readonly message?: string }[];
}

/**
 * Calls Cloudflare's API.
 * @param path starts with `/` and may have a query.
 * @param body is sent as JSON.
 * @param more further headers.
 * @returns `result` of the response.
 * @throws ApiError
 */
export async function callApi<T>(
  access: ApiAccess,
  method: string,
  path: string,
  body?: unknown,
  more: Readonly<Record<string, string>> = {},
): Promise<T> {
  const request = {
    method,
    headers: { authorization: `Bearer ${access.token}`, 'content-type': 'application/json', ...more },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  };
  const response = await fetch(access.baseUrl + path, request).catch((error: unknown) => {
    throw new ApiError(`Cloudflare's API at ${access.baseUrl} does not answer: ${reasonOf(error)}.`, 0, []);
  });
  const envelope = (await response.json().catch(() => ({}))) as Envelope<T>;
  if (response.ok && envelope.success && envelope.result !== undefined) return envelope.result;
  throw toApiError(path.split('?')[0] ?? path, response.status, envelope.errors ?? []);
}

function toApiError(path: string, status: number, errors: NonNullable<Envelope<unknown>['errors']>): ApiError {
  const codes = errors.flatMap(({ code }) => code ?? []);
  const isForbidden = status === 403 || codes.some((code) => FORBIDDEN_CODES.includes(code));
  const permission = isForbidden ? permissionFor(path) : undefined;
  if (permission) return new ApiError(describeMissingPermission(permission), status, codes, permission);
  if (status === 401)
    return new ApiError('Cloudflare does not accept the API token: it is wrong, expired or revoked.', status, codes);
  const reasons = errors.map(({ message, code }) => `${message ?? 'no message'} (${code ?? 'no code'})`).join('; ');
  return new ApiError(`Cloudflare answered ${status} to ${path}: ${reasons || 'no reason given'}.`, status, codes);
}

/** Returns the message of an error, or the cause that the error of `fetch` hides. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as { code?: string; message?: string } | undefined;
  return cause?.code ?? cause?.message ?? error.message;
}

/**
 * Finds the account to deploy to.
 * @param wanted an account id, or empty for the token's only account.
 * @returns the id. If the token may not list accounts, that is `wanted`.
 * @throws ApiError that lists the accounts to choose from.
 */
export async function findAccountId(access: ApiAccess, wanted: string): Promise<string> {
  const listed = callApi<{ id: string; name: string }[]>(access, 'GET', `/accounts?per_page=${ACCOUNTS_MAX}`);
  const accounts = await listed.catch((error: unknown) => {
    if (wanted !== '' && error instanceof ApiError && error.permission) return [];
    throw error;
  });
  const [account] = accounts;
  // If the first page of accounts is full, the wanted account may be on a later page.
  const mayBeThere = [0, ACCOUNTS_MAX].includes(accounts.length) || accounts.some(({ id }) => id === wanted);
  if (wanted !== '' && mayBeThere) return wanted;
  if (wanted === '' && accounts.length === 1 && account) return account.id;
  const list = accounts.map(({ id, name }) => `\n  ${id}  ${name}`).join('');
  const count =
    accounts.length === 0 ? 'no account' : accounts.length === 1 ? 'another account' : `${accounts.length} accounts`;
  const reason = wanted === '' ? `sees ${count}` : `does not see the account ${wanted}, but ${count}`;
  throw new ApiError(`The token ${reason}. Set CLOUDFLARE_ACCOUNT_ID to the one to deploy to.${list}`, 200, []);
}

export interface Zone {
  readonly id: string;
  readonly name: string;
}

/**
 * Finds the DNS zone of a host.
 * @returns the zone with the longest name that contains the host.
 * @throws ApiError if there is none.
 */
export async function findZone(access: ApiAccess, accountId: string, hostname: string): Promise<Zone> {
  for (let name = hostname; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    const query = new URLSearchParams({ name, 'account.id': accountId });
    const [zone] = await callApi<Zone[]>(access, 'GET', `/zones?${query}`);
    if (zone) return zone;
  }
  throw new ApiError(
    `${hostname} is not in any zone of this account that the token can read. Add the domain to Cloudflare first: https://developers.cloudflare.com/dns/zone-setups/full-setup/.`,
    200,
    [],
  );
}
