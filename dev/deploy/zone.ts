/**
 * Optional settings of DNS zones: Email Routing and DNS records of the mail domains, and unchanged objects and keys for S3_HOST.
 * Each step is skipped with a sentence and a link if the token lacks the right, or if it would replace an existing setting.
 */
import { type ApiAccess, ApiError, callApi, DeployError, findZone, reasonOf, type Zone } from './cloudflare-api.ts';
import { enableSending, subscribeEvents } from './email-sending.ts';
import type { Account } from './resources.ts';
import { attempt, type Outcome } from './zone-step.ts';

interface MailSetUp {
  readonly worker: string;
  readonly domains: readonly string[];
  /** Queue of delivery events. Null if mail does not leave through Email Service. */
  readonly eventQueue: string | null;
  /** Origin of the deployed API, without a trailing slash. */
  readonly origin: string;
  /** ROOT_TOKEN of the deployment. Undefined if only Cloudflare has it. */
  readonly rootToken: string | undefined;
}

export async function setUpMail(account: Account, mail: MailSetUp): Promise<void> {
  for (const domain of mail.domains) {
    let zone: Zone;
    try {
      zone = await findZone(account.access, account.accountId, domain);
    } catch (error) {
      console.log(`Mail of ${domain}: skipped, because ${reasonOf(error)}`);
      continue;
    }
    const dashboard = `https://dash.cloudflare.com/${account.accountId}/${zone.name}`;
    await attempt(`Email Routing of ${domain}`, `${dashboard}/email/routing/overview`, () =>
      enableEmailRouting(account.access, zone, domain),
    );
    await attempt(`Catch-all rule of ${domain}`, `${dashboard}/email/routing/routes`, () =>
      setCatchAll(account.access, zone, domain, mail.worker),
    );
    await attempt(`DNS records of ${domain}`, `${dashboard}/dns/records`, () =>
      publishRecords(account.access, zone, domain, mail),
    );
    const { eventQueue } = mail;
    if (eventQueue === null) continue;
    const sending = `https://dash.cloudflare.com/${account.accountId}/email-service/sending`;
    await attempt(`Sending from ${domain}`, sending, () => enableSending(account.access, zone, domain));
    const queues = `https://dash.cloudflare.com/${account.accountId}/workers/queues`;
    await attempt(`Delivery events of ${domain}`, queues, () => subscribeEvents(account, zone, domain, eventQueue));
  }
}

interface DnsRecord {
  readonly type: string;
  readonly name: string;
  readonly content: string;
}

async function listRecords(access: ApiAccess, zone: Zone, type: string, name: string): Promise<DnsRecord[]> {
  const query = new URLSearchParams({ type, name, per_page: '100' });
  return callApi<DnsRecord[]>(access, 'GET', `/zones/${zone.id}/dns_records?${query}`);
}

/** Turns on Email Routing for a zone. Skips a zone whose mail goes to another provider. */
async function enableEmailRouting(access: ApiAccess, zone: Zone, domain: string): Promise<Outcome> {
  if (domain !== zone.name) return { skipped: `${domain} is a subdomain of the zone ${zone.name}.` };
  const path = `/zones/${zone.id}/email/routing`;
  const { enabled } = await callApi<{ enabled: boolean }>(access, 'GET', path);
  if (enabled) return 'already set';
  const others = (await listRecords(access, zone, 'MX', domain)).filter(
    ({ content }) => !content.endsWith('.mx.cloudflare.net'),
  );
  if (others[0]) return { skipped: `mail of ${domain} goes to ${others[0].content}.` };
  await callApi(access, 'POST', `${path}/dns`, {});
  return 'done';
}

interface CatchAll {
  readonly enabled: boolean;
  readonly actions: readonly { readonly type: string; readonly value?: readonly string[] }[];
}

async function setCatchAll(access: ApiAccess, zone: Zone, domain: string, worker: string): Promise<Outcome> {
  if (domain !== zone.name) return { skipped: `${domain} is a subdomain of the zone ${zone.name}.` };
  const routing = `/zones/${zone.id}/email/routing`;
  const { enabled } = await callApi<{ enabled: boolean }>(access, 'GET', routing);
  if (!enabled) return { skipped: 'Email Routing is off.' };
  const path = `${routing}/rules/catch_all`;
  const { actions, enabled: isActive } = await callApi<CatchAll>(access, 'GET', path);
  if (isActive && actions.some(({ type, value }) => type === 'worker' && value?.includes(worker))) return 'already set';
  if (isActive && actions.some(({ type }) => type !== 'drop')) return { skipped: 'another catch-all rule is active.' };
  const rule = {
    actions: [{ type: 'worker', value: [worker] }],
    matchers: [{ type: 'all' }],
    enabled: true,
    name: worker,
  };
  await callApi(access, 'PUT', path, rule);
  return 'done';
}

interface WantedRecord {
  readonly type: string;
  readonly name: string;
  readonly value: string | null;
}

/** Adds missing SPF, DKIM, DMARC and SRV records. Never changes an existing record. */
async function publishRecords(access: ApiAccess, zone: Zone, domain: string, mail: MailSetUp): Promise<Outcome> {
  if (!mail.rootToken) return { skipped: 'ROOT_TOKEN is needed to read the DKIM keys. Put it into .deploy.secrets.' };
  let added = 0;
  for (const { type, name, value } of await listWanted(mail.origin, domain, mail.rootToken)) {
    if (type === 'SRV' && value !== null) added += await addSrv(access, zone, name, value);
    if (type !== 'TXT' || value === null) continue;
    const kind = value.split(/[;\s]/, 1)[0] ?? '';
    const texts = (await listRecords(access, zone, 'TXT', name)).map(({ content }) =>
      content.replaceAll(/"\s*"?/g, ''),
    );
    if (texts.some((text) => text.startsWith(kind))) continue;
    const record = { type, name, content: `"${value.match(/.{1,255}/g)?.join('" "')}"`, ttl: 1 };
    await callApi(access, 'POST', `/zones/${zone.id}/dns_records`, record);
    added++;
  }
  return added > 0 ? 'done' : 'already set';
}

/** Adds the SRV record of a service that has none. @param value priority, weight, port and target. @returns the number of added ones. */
async function addSrv(access: ApiAccess, zone: Zone, name: string, value: string): Promise<number> {
  if ((await listRecords(access, zone, 'SRV', name)).length > 0) return 0;
  const [priority, weight, port, target] = value.split(' ');
  const data = { priority: Number(priority), weight: Number(weight), port: Number(port), target };
  await callApi(access, 'POST', `/zones/${zone.id}/dns_records`, { type: 'SRV', name, data, ttl: 1 });
  return 1;
}

/** Asks the deployed Worker for the records that the domain needs. Creates the DKIM keys of a domain that has none. */
async function listWanted(origin: string, domain: string, rootToken: string): Promise<WantedRecord[]> {
  const ask = async (method: string, path: string): Promise<WantedRecord[]> => {
    const headers = { authorization: `Bearer ${rootToken}` };
    const response = await fetch(origin + path, { method, headers, signal: AbortSignal.timeout(30_000) });
    if (response.status === 401) throw new DeployError('the Worker has another ROOT_TOKEN than the one given here.');
    if (!response.ok) throw new DeployError(`the Worker answered ${response.status} to ${path}.`);
    return ((await response.json()) as { dns_records: WantedRecord[] }).dns_records;
  };
  const path = `/v1/domains/${encodeURIComponent(domain)}`;
  const records = await ask('GET', path);
  const hasKeys = records.some(({ name }) => name.includes('._domainkey.'));
  return hasKeys ? records : ask('POST', `${path}/dkim-keys`);
}

/**
 * Lets object keys with `.`, `..` and control characters reach the Worker as they were sent. Runs only if RAW_TARGET_HEADER is set,
 * because it changes the URL normalization of the whole zone.
 */
export async function keepRawTargets(account: Account, host: string, header: string): Promise<void> {
  const zone = await findZone(account.access, account.accountId, host);
  const rules = `https://dash.cloudflare.com/${account.accountId}/${zone.name}/rules`;
  await attempt(`URL normalization of ${zone.name} off`, `${rules}/settings/normalization`, async () => {
    const path = `/zones/${zone.id}/url_normalization`;
    const { scope } = await callApi<{ scope: string }>(account.access, 'GET', path);
    if (scope === 'none') return 'already set';
    await callApi(account.access, 'PUT', path, { scope: 'none', type: 'cloudflare' });
    return 'done';
  });
  await attempt(`Transform rule of ${host}`, `${rules}/transform-rules`, () =>
    addTransformRule(account.access, zone, host, header),
  );
}

interface Ruleset {
  readonly id: string;
  readonly rules?: readonly { readonly ref?: string; readonly expression: string }[];
}

/** A rule of a zone. Each host has its own, so that staging and production can share a zone. */
interface ZoneRule {
  readonly ref: string;
  readonly description: string;
  readonly expression: string;
  readonly action: string;
  readonly action_parameters: object;
}

const refOf = (name: string, host: string): string => `${name}_${host.replaceAll(/[^a-z0-9]/gi, '_')}`;

async function addTransformRule(access: ApiAccess, zone: Zone, host: string, header: string): Promise<Outcome> {
  return await addRule(access, zone, 'http_request_late_transform', {
    ref: refOf('tessera_raw_target', host),
    description: 'Tessera: the path as it was sent',
    expression: `http.host eq "${host}"`,
    action: 'rewrite',
    action_parameters: { headers: { [header]: { operation: 'set', expression: 'raw.http.request.uri' } } },
  });
}

/**
 * Keeps the edge from compressing objects: a compressed answer has no Content-Length and a weak ETag. The rule reaches signed requests
 * too, whose answers carry no `no-transform`, because programs copy Cache-Control.
 */
export async function keepObjectsUncompressed(account: Account, host: string): Promise<void> {
  const zone = await findZone(account.access, account.accountId, host);
  const page = `https://dash.cloudflare.com/${account.accountId}/${zone.name}/rules/compression-rules`;
  await attempt(`Compression rule of ${host}`, page, () =>
    addRule(account.access, zone, 'http_response_compression', {
      ref: refOf('tessera_uncompressed', host),
      description: 'Tessera: objects as they are stored',
      expression: `http.host eq "${host}" or ends_with(http.host, ".${host}")`,
      action: 'compress_response',
      action_parameters: { algorithms: [{ name: 'none' }] },
    }),
  );
}

/** Adds a rule to a phase of a zone, after the rules that are there. */
async function addRule(access: ApiAccess, zone: Zone, phase: string, rule: ZoneRule): Promise<Outcome> {
  const entrypoint = `/zones/${zone.id}/rulesets/phases/${phase}/entrypoint`;
  const ruleset = await callApi<Ruleset>(access, 'GET', entrypoint).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
  if (ruleset?.rules?.some(({ ref }) => ref === rule.ref)) return 'already set';
  if (ruleset) await callApi(access, 'POST', `/zones/${zone.id}/rulesets/${ruleset.id}/rules`, rule);
  else await callApi(access, 'PUT', entrypoint, { rules: [rule] });
  return 'done';
}
