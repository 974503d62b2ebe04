/** Routes of the stand-in for Cloudflare's API: what each request reads or changes in its state. */
import {
  ACCOUNT_ID,
  type CloudflareState,
  newDatabase,
  type Script,
  type StoredDatabase,
  type StoredRule,
  type StoredSubscription,
  ZONE_ID,
} from './cloudflare-state.ts';
import {
  type ApiAnswer,
  type Call,
  createDeployment,
  type Handler,
  listDeployments,
  listVersions,
  NOT_FOUND,
  parse,
  showVersion,
  UNKNOWN_SCRIPT,
  upload,
} from './cloudflare-versions.ts';

const EMPTY: Handler = () => ({ result: {} });

/** Answers a paged list whose rows are all on the first page. */
const page = (url: URL, rows: readonly unknown[]): ApiAnswer => ({
  result: Number(url.searchParams.get('page') ?? 1) > 1 ? [] : rows,
});

const ROUTES: readonly (readonly [RegExp, Handler])[] = [
  [/^GET \/accounts$/, ({ state }) => ({ result: state.accounts })],
  [/^GET \/memberships$/, ({ state }) => ({ result: state.accounts.map((account) => ({ id: account.id, account })) })],
  [/^GET \/user$/, () => ({ result: { id: 'user', email: 'test@example.com' } })],
  [/^GET \/user\/tokens\/verify$/, () => ({ result: { id: 'token', status: 'active' } })],
  [/^GET \/zones$/, ({ url }) => findZone(url)],
  [/^GET \/zones\/[^/]+\/dns_records$/, findRecords],
  [/^POST \/zones\/[^/]+\/dns_records$/, createRecord],
  [
    /^DELETE \/zones\/[^/]+\/dns_records\/([^/]+)$/,
    ({ state, parts: [id] }) => dropFrom(state.records, (each) => each.id === id),
  ],
  [/^GET \/zones\/[^/]+\/email\/routing$/, ({ state }) => ({ result: { enabled: state.emailRouting.isEnabled } })],
  [/^POST \/zones\/[^/]+\/email\/routing\/dns$/, enableEmailRouting],
  [/^GET \/zones\/[^/]+\/email\/routing\/rules\/catch_all$/, ({ state }) => ({ result: state.emailRouting.catchAll })],
  [/^PUT \/zones\/[^/]+\/email\/routing\/rules\/catch_all$/, setCatchAll],
  [/^GET \/zones\/[^/]+\/email\/sending\/subdomains$/, listSendingDomains],
  [/^POST \/zones\/[^/]+\/email\/sending\/subdomains$/, enableSendingDomain],
  [
    /^DELETE \/zones\/[^/]+\/email\/sending\/subdomains\/([^/]+)$/,
    ({ state, parts: [tag = ''] }) => ({ result: state.sendingDomains.delete(tag) }),
  ],
  [/^GET \/A\/event_subscriptions\/subscriptions$/, ({ state, url }) => page(url, state.subscriptions)],
  [/^POST \/A\/event_subscriptions\/subscriptions$/, subscribe],
  [/^PATCH \/A\/event_subscriptions\/subscriptions\/([^/]+)$/, changeSubscription],
  [
    /^DELETE \/A\/event_subscriptions\/subscriptions\/([^/]+)$/,
    ({ state, parts: [id] }) => dropFrom(state.subscriptions, (each) => each.id === id),
  ],
  [/^GET \/zones\/[^/]+\/url_normalization$/, ({ state }) => ({ result: state.urlNormalization })],
  [/^PUT \/zones\/[^/]+\/url_normalization$/, setUrlNormalization],
  [/^GET \/zones\/[^/]+\/rulesets\/phases\/([^/]+)\/entrypoint$/, findRules],
  [/^PUT \/zones\/[^/]+\/rulesets\/phases\/([^/]+)\/entrypoint$/, setRules],
  [/^POST \/zones\/[^/]+\/rulesets\/ruleset-([^/]+)\/rules$/, addRule],
  [/^GET \/A\/d1\/database$/, ({ state, url }) => page(url, [...state.databases.values()].map(toDatabase))],
  [/^POST \/A\/d1\/database$/, createDatabase],
  [/^GET \/A\/d1\/database\/([^/]+)$/, withDatabase((database) => ({ result: toDatabase(database) }))],
  [/^PUT \/A\/d1\/database\/([^/]+)$/, withDatabase(updateDatabase)],
  [/^DELETE \/A\/d1\/database\/([^/]+)$/, withDatabase(deleteDatabase)],
  [
    /^GET \/A\/d1\/database\/([^/]+)\/time_travel\/bookmark$/,
    withDatabase(({ name }) => ({ result: { bookmark: `bookmark-of-${name}` } })),
  ],
  [/^POST \/A\/d1\/database\/([^/]+)\/time_travel\/restore$/, withDatabase(({ name }) => ({ result: { name } }))],
  [/^POST \/A\/d1\/database\/([^/]+)\/(?:query|raw)$/, withDatabase(runSql)],
  [/^GET \/A\/r2\/buckets$/, listBuckets],
  [
    /^GET \/A\/r2\/buckets\/([^/]+)$/,
    ({ state, parts, bucketPrefix }) =>
      state.buckets.has(`${bucketPrefix}${parts[0]}`) ? { result: { name: parts[0] } } : NOT_FOUND,
  ],
  [/^POST \/A\/r2\/buckets$/, createBucket],
  [/^DELETE \/A\/r2\/buckets\/([^/]+)$/, deleteBucket],
  [/^GET \/A\/r2\/buckets\/([^/]+)\/objects$/, listObjects],
  [/^DELETE \/A\/r2\/buckets\/([^/]+)\/objects\/([^/]+)$/, deleteObject],
  [/^GET \/A\/queues$/, listQueues],
  [/^POST \/A\/queues$/, createQueue],
  [/^DELETE \/A\/queues\/([^/]+)$/, deleteQueue],
  [/^POST \/A\/queues\/([^/]+)\/consumers$/, addConsumer],
  [/^DELETE \/A\/queues\/([^/]+)\/consumers\/([^/]+)$/, removeConsumer],
  [/^(?:GET|PUT) \/A\/queues\//, EMPTY],
  [/^GET \/A\/workers\/domains$/, listDomains],
  [/^DELETE \/A\/workers\/domains\/([^/]+)$/, ({ state, parts }) => ({ result: state.domains.delete(parts[0] ?? '') })],
  [/^GET \/A\/workers\/domains\/records\/([^/]+)$/, findDomain],
  [/^GET \/A\/workers\/scripts$/, ({ state }) => ({ result: [...state.scripts.keys()].map((id) => ({ id })) })],
  [/^GET \/A\/workers\/subdomain$/, () => ({ result: { subdomain: 'test' } })],
  [
    /^POST \/A\/workers\/(?:scripts|services)\/([^/]+)\/.*domains\/changeset$|^POST \/A\/workers\/scripts\/([^/]+)\/domains\/changeset$/,
    toChangeset,
  ],
  [/^PUT \/A\/workers\/(?:scripts|services)\/([^/]+)\/(?:.*\/)?domains\/records$/, setDomains],
  [/^GET \/A\/workers\/scripts\/([^/]+)\/secrets$/, listSecrets],
  [
    /^GET \/A\/workers\/services\/([^/]+)$/,
    ({ state, parts }) => {
      const script = state.scripts.get(parts[0] ?? '');
      return script ? { result: toService(script) } : UNKNOWN_SCRIPT;
    },
  ],
  [/^GET \/A\/workers\/scripts\/([^/]+)\/deployments$/, listDeployments],
  [/^POST \/A\/workers\/scripts\/([^/]+)\/deployments$/, createDeployment],
  [/^GET \/A\/workers\/scripts\/([^/]+)\/versions$/, listVersions],
  [/^GET \/A\/workers\/scripts\/([^/]+)\/versions\/([^/]+)$/, showVersion],
  [
    /^GET \/A\/workers\/scripts\/([^/]+)\/settings$/,
    ({ state, parts }) => ({ result: { bindings: state.scripts.get(parts[0] ?? '')?.bindings ?? [] } }),
  ],
  [/^GET .*\/settings$/, () => ({ result: { bindings: [] } })],
  [/^POST .*\/assets-upload-session$/, () => ({ result: { jwt: 'done', buckets: [] } })],
  [/^(?:GET|PATCH) \/A\/workers\/workers\/[^/]+$/, () => ({ result: WORKER })],
  [/^PUT \/A\/workers\/scripts\/([^/]+)$/, upload],
  [/^POST \/A\/workers\/scripts\/([^/]+)\/versions$/, upload],
  [/^DELETE \/A\/workers\/scripts\/([^/]+)$/, ({ state, parts }) => ({ result: state.scripts.delete(parts[0] ?? '') })],
  [/^(?:GET|PUT|POST|PATCH) \/A\/workers\/scripts\/[^/]+\//, EMPTY],
];

/** Answers a request by the first route that matches. */
export function answerApi(
  state: CloudflareState,
  method: string,
  url: URL,
  body: string,
  bucketJurisdiction: string,
): ApiAnswer {
  const line = `${method} ${url.pathname.replace(`/accounts/${ACCOUNT_ID}`, '/A')}`;
  for (const [pattern, handle] of ROUTES) {
    const match = pattern.exec(line);
    if (match)
      return handle({
        state,
        method,
        url,
        body,
        bucketPrefix: bucketJurisdiction && `${bucketJurisdiction}/`,
        parts: match.slice(1).filter(Boolean).map(decodeURIComponent),
      });
  }
  return { status: 404, code: 7003, message: `The stand-in does not implement ${line}` };
}

const WORKER = { name: 'tessera', subdomain: { enabled: false, previews_enabled: false }, observability: {}, tags: [] };
const toService = ({ migrationTag: migration_tag }: Script) => ({
  default_environment: {
    environment: 'production',
    script: { tag: 't', tags: [], last_deployed_from: 'wrangler', ...(migration_tag ? { migration_tag } : {}) },
  },
});

function withDatabase(handle: (database: StoredDatabase, call: Call) => ApiAnswer): Handler {
  return (call) => {
    const [key] = call.parts;
    const database = [...call.state.databases.values()].find(({ uuid, name }) => uuid === key || name === key);
    return database ? handle(database, call) : NOT_FOUND;
  };
}

function toDatabase({ uuid, name, replication }: StoredDatabase) {
  return { uuid, name, version: 'production', read_replication: { mode: replication } };
}

function createDatabase({ state, body }: Call): ApiAnswer {
  const { name, primary_location_hint, jurisdiction } = parse<{
    name: string;
    primary_location_hint?: string;
    jurisdiction?: string;
  }>(body);
  if (state.databases.has(name)) return { code: 7502, message: `A database with the name ${name} already exists` };
  const database = newDatabase(name, primary_location_hint, jurisdiction);
  state.databases.set(name, database);
  return { result: toDatabase(database) };
}

function updateDatabase(database: StoredDatabase, { body }: Call): ApiAnswer {
  database.replication = parse<{ read_replication: { mode: string } }>(body).read_replication.mode;
  return { result: toDatabase(database) };
}

function deleteDatabase({ name }: StoredDatabase, { state }: Call): ApiAnswer {
  state.databases.delete(name);
  return { result: {} };
}

/** Runs a request of D1 in one transaction, as D1 does. */
function runSql({ sql }: StoredDatabase, { body }: Call): ApiAnswer {
  const statement = Buffer.from(parse<{ sql: string }>(body).sql, 'latin1').toString('utf8');
  try {
    if (/^\s*SELECT/i.test(statement))
      return { result: [{ success: true, results: sql.prepare(statement).all(), meta: {} }] };
    sql.exec('BEGIN');
    sql.exec(statement);
    sql.exec('COMMIT');
    return { result: [{ success: true, results: [], meta: {} }] };
  } catch (error) {
    if (sql.isTransaction) sql.exec('ROLLBACK');
    return { status: 400, code: 7500, message: `${error instanceof Error ? error.message : error}: SQLITE_ERROR` };
  }
}

function listBuckets({ state, bucketPrefix }: Call): ApiAnswer {
  const keys = [...state.buckets.keys()].filter((key) =>
    bucketPrefix === '' ? !key.includes('/') : key.startsWith(bucketPrefix),
  );
  return { result: { buckets: keys.map((key) => ({ name: key.slice(bucketPrefix.length) })) } };
}

function createBucket({ state, body, bucketPrefix }: Call): ApiAnswer {
  const { name, locationHint } = parse<{ name: string; locationHint?: string }>(body);
  const key = `${bucketPrefix}${name}`;
  if (locationHint && bucketPrefix) return { code: 10005, message: 'A bucket has a jurisdiction or a location hint' };
  if (state.buckets.has(key))
    return { status: 409, code: 10004, message: 'The bucket you tried to create already exists' };
  state.buckets.set(key, { region: locationHint, objects: 0 });
  return { result: { name } };
}

function deleteBucket({ state, parts, bucketPrefix }: Call): ApiAnswer {
  const name = `${bucketPrefix}${parts[0]}`;
  if ((state.buckets.get(name)?.objects ?? 0) > 0)
    return { status: 409, code: 10008, message: 'The bucket you tried to delete is not empty' };
  return state.buckets.delete(name) ? { result: {} } : NOT_FOUND;
}

/** The objects of a bucket have numbers as keys, because only how many there are is known. */
function listObjects({ state, parts: [name = ''] }: Call): ApiAnswer {
  return { result: Array.from({ length: state.buckets.get(name)?.objects ?? 0 }, (_, key) => ({ key: `a/${key}` })) };
}

function deleteObject({ state, parts: [name = '', key] }: Call): ApiAnswer {
  const bucket = state.buckets.get(name);
  if (!bucket || bucket.objects === 0) return NOT_FOUND;
  bucket.objects--;
  return { result: { key } };
}

function dropFrom<T>(rows: T[], isWanted: (row: T) => boolean): ApiAnswer {
  const at = rows.findIndex(isWanted);
  return at === -1 ? NOT_FOUND : { result: rows.splice(at, 1)[0] };
}

function listQueues({ state, url }: Call): ApiAnswer {
  const names = url.searchParams.getAll('name');
  return page(
    url,
    [...state.queues.values()].filter(({ queue_name }) => names.length === 0 || names.includes(queue_name)),
  );
}

function createQueue({ state, body }: Call): ApiAnswer {
  const { queue_name, jurisdiction } = parse<{ queue_name: string; jurisdiction?: string }>(body);
  if (state.queues.has(queue_name)) return { status: 409, code: 11009, message: 'Queue name is already taken' };
  state.queues.set(queue_name, { queue_id: crypto.randomUUID(), queue_name, jurisdiction, consumers: [] });
  return { result: state.queues.get(queue_name) };
}

const findQueue = ({ state, parts }: Call) => [...state.queues.values()].find(({ queue_id }) => queue_id === parts[0]);

function deleteQueue(call: Call): ApiAnswer {
  const queue = findQueue(call);
  if (!queue) return NOT_FOUND;
  call.state.queues.delete(queue.queue_name);
  return { result: {} };
}

function addConsumer(call: Call): ApiAnswer {
  const { script_name } = parse<{ script_name: string }>(call.body);
  const consumer = { consumer_id: crypto.randomUUID(), type: 'worker', script: script_name };
  const queue = findQueue(call);
  if (queue && queue.consumers.length > 0) return { code: 11004, message: 'Queue already has a consumer' };
  queue?.consumers.push(consumer);
  return queue ? { result: consumer } : NOT_FOUND;
}

function removeConsumer(call: Call): ApiAnswer {
  findQueue(call)?.consumers.splice(0);
  return { result: {} };
}

const findZone = (url: URL): ApiAnswer => ({
  result: url.searchParams.get('name') === 'example.com' ? [{ id: ZONE_ID, name: 'example.com' }] : [],
});

function findRecords({ state, url: { searchParams } }: Call): ApiAnswer {
  const isWanted = (field: 'name' | 'type', value: string): boolean => (searchParams.get(field) ?? value) === value;
  return { result: state.records.filter(({ name, type }) => isWanted('name', name) && isWanted('type', type)) };
}

function createRecord({ state, body }: Call): ApiAnswer {
  const record = { ...parse<{ type: string; name: string; content: string }>(body), id: crypto.randomUUID() };
  state.records.push(record);
  return { result: record };
}

function enableEmailRouting({ state }: Call): ApiAnswer {
  state.emailRouting.isEnabled = true;
  return { result: { enabled: true } };
}

function setCatchAll({ state, body }: Call): ApiAnswer {
  state.emailRouting.catchAll = parse(body);
  return { result: state.emailRouting.catchAll };
}

const toSendingDomain = (name: string) => ({ name, enabled: true, tag: name });

function listSendingDomains({ state }: Call): ApiAnswer {
  return { result: [...state.sendingDomains].map(toSendingDomain) };
}

function enableSendingDomain({ state, body }: Call): ApiAnswer {
  const { name } = parse<{ name: string }>(body);
  state.sendingDomains.add(name);
  return { result: toSendingDomain(name) };
}

/** Names of events as wrangler passes them. The type of an event in the queue has the prefix `cf.email.sending.` too. */
const SENDING_EVENTS = ['delivered', 'deferred', 'bounced', 'failed', 'rejected', 'complained'].map(
  (kind) => `message.${kind}`,
);
const refuseSubscription = (message: string): ApiAnswer => ({ status: 400, code: 10026, message });

/** Accepts only subscriptions to known events of a domain that is enabled for sending, into an existing queue. */
function subscribe({ state, body }: Call): ApiAnswer {
  const asked = parse<Omit<StoredSubscription, 'id'>>(body);
  const { name, events, source, destination } = asked;
  if (source.type !== 'email.sending' || source.zone_id !== ZONE_ID || !state.sendingDomains.has(source.domain))
    return refuseSubscription('The source is not an enabled sending domain of the zone');
  if (events.length === 0 || events.some((event) => !SENDING_EVENTS.includes(event)))
    return refuseSubscription('Unknown event');
  const queue = [...state.queues.values()].find(({ queue_id }) => queue_id === destination.queue_id);
  if (destination.type !== 'queues.queue' || !queue) return refuseSubscription('The queue does not exist');
  if (state.subscriptions.some((each) => each.name === name)) return refuseSubscription('The name is already taken');
  const subscription = { ...asked, id: crypto.randomUUID() };
  state.subscriptions.push(subscription);
  return { result: subscription };
}

function changeSubscription({ state, body, parts: [id] }: Call): ApiAnswer {
  const subscription = state.subscriptions.find((each) => each.id === id);
  if (!subscription) return NOT_FOUND;
  const { enabled, events } = parse<Partial<StoredSubscription>>(body);
  if (events?.some((event) => !SENDING_EVENTS.includes(event))) return refuseSubscription('Unknown event');
  subscription.enabled = enabled ?? subscription.enabled;
  subscription.events = events ?? subscription.events;
  return { result: subscription };
}

function setUrlNormalization({ state, body }: Call): ApiAnswer {
  state.urlNormalization = parse(body);
  return { result: state.urlNormalization };
}

function findRules({ state, parts: [phase = ''] }: Pick<Call, 'state' | 'parts'>): ApiAnswer {
  const rules = state.rules.get(phase);
  return rules ? { result: { id: `ruleset-${phase}`, rules } } : { ...NOT_FOUND, code: 10003 };
}

function setRules(call: Call): ApiAnswer {
  call.state.rules.set(call.parts[0] ?? '', parse<{ rules: StoredRule[] }>(call.body).rules);
  return findRules(call);
}

function addRule(call: Call): ApiAnswer {
  call.state.rules.get(call.parts[0] ?? '')?.push(parse(call.body));
  return findRules(call);
}

function listDomains({ state }: Call): ApiAnswer {
  return { result: [...state.domains].map(([hostname, service]) => ({ id: hostname, hostname, service })) };
}

function findDomain({ state, parts: [hostname = ''] }: Call): ApiAnswer {
  return { result: { id: hostname, hostname, service: state.domains.get(hostname) } };
}

function toChangeset({ state, body, parts: [script = ''] }: Call): ApiAnswer {
  if (!state.scripts.has(script)) return UNKNOWN_SCRIPT;
  const hosts = parse<{ hostname: string }[]>(body).map(({ hostname }) => hostname);
  const toEntry = (hostname: string) => ({ id: hostname, hostname });
  const owned = hosts.filter((host) => state.domains.has(host));
  const conflicting = hosts.filter((host) => !owned.includes(host) && state.records.some(({ name }) => name === host));
  return {
    result: {
      added: hosts.filter((host) => !owned.includes(host) && !conflicting.includes(host)).map(toEntry),
      removed: [],
      updated: owned.map((host) => ({ ...toEntry(host), modified: state.domains.get(host) !== script })),
      conflicting: conflicting.map(toEntry),
    },
  };
}

function setDomains({ state, body, parts: [script = ''] }: Call): ApiAnswer {
  for (const { hostname } of parse<{ origins: { hostname: string }[] }>(body).origins)
    state.domains.set(hostname, script);
  return { result: [] };
}

function listSecrets({ state, parts: [name = ''] }: Call): ApiAnswer {
  const script = state.scripts.get(name);
  return script
    ? { result: [...script.secrets.keys()].map((secret) => ({ name: secret, type: 'secret_text' })) }
    : UNKNOWN_SCRIPT;
}
