/**
 * The activity log of Cloudflare Email Routing: what it did with messages before the Worker saw them, and which ones the Worker never
 * saw. Cloudflare keeps it for 31 days.
 * https://developers.cloudflare.com/analytics/graphql-api/tutorials/querying-email-routing/
 */
import { getDomain } from 'tldts';
import { settingsOf } from '../../shared/settings/settings.ts';

const TIMEOUT_MS = 10_000;
const EVENTS_MAX = 100;

/** An event of the log, as its GraphQL API has it. */
export interface RoutingEvent {
  readonly datetime: string;
  readonly messageId: string;
  readonly from: string;
  readonly to: string;
  readonly status: string;
  readonly action: string;
  readonly spf: string;
  readonly dkim: string;
  readonly dmarc: string;
  readonly errorDetail: string;
}

export interface RoutingQuery {
  readonly since: number;
  readonly until: number;
  /** The recipient, in lower case. */
  readonly to: string;
  readonly messageId: string | null;
}

const QUERY = `query Trace($zoneTag: string, $filter: EmailRoutingAdaptiveFilter_InputObject) {
  viewer { zones(filter: { zoneTag: $zoneTag }) {
    emailRoutingAdaptive(filter: $filter, limit: ${EVENTS_MAX}, orderBy: [datetime_DESC]) {
      datetime messageId from to status action spf dkim dmarc errorDetail
    } } } }`;

interface GraphAnswer {
  readonly data?: {
    readonly viewer?: { readonly zones?: readonly { emailRoutingAdaptive: readonly RoutingEvent[] }[] };
  };
  readonly errors?: readonly { readonly message?: string }[] | null;
}

/**
 * Reads the events of a recipient.
 * @returns null if CLOUDFLARE_MAIL_TOKEN is not set. @throws if the API does not answer, or the token has no right to the log.
 */
export async function readRoutingLog(env: Env, query: RoutingQuery): Promise<readonly RoutingEvent[] | null> {
  const { CLOUDFLARE_MAIL_TOKEN: token, MAIL_API_URL: url } = settingsOf(env);
  const base = /^.*\/client\/v4(?=\/)/.exec(url)?.[0];
  if (token === '' || base === undefined) return null;
  const call = async (path: string, body?: object): Promise<unknown> => {
    const response = await fetch(base + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`Cloudflare's API answers ${response.status} to ${path.split('?')[0]}`);
    return response.json();
  };
  const domain = getDomain(query.to) ?? query.to.split('@')[1] ?? '';
  const zones = (await call(`/zones?name=${encodeURIComponent(domain)}`)) as { result?: readonly { id: string }[] };
  const zoneTag = zones.result?.[0]?.id;
  if (zoneTag === undefined) throw new Error(`the token sees no zone ${domain}`);
  const filter = {
    datetime_geq: new Date(query.since).toISOString(),
    datetime_leq: new Date(query.until).toISOString(),
    to: query.to,
    ...(query.messageId !== null && { messageId: query.messageId }),
  };
  const answer = (await call('/graphql', { query: QUERY, variables: { zoneTag, filter } })) as GraphAnswer;
  const [zone] = answer.data?.viewer?.zones ?? [];
  if (!zone) throw new Error(`Email Routing's log: ${answer.errors?.[0]?.message ?? 'no answer'}`);
  return zone.emailRoutingAdaptive;
}
