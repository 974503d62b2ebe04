/** Hosted domains and routes. Adds and changes them, creates DKIM keys, and lists the DNS records that authenticate our mail. */
import { sealSecret } from '../../identity/index.ts';
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { readBridge } from '../bindings/bridge.ts';
import { createCheckDependencies } from '../checks/production-dependencies.ts';
import { generateDkimKey, toDkimRecord } from '../dkim/keys.ts';
import type { DkimAlgorithm } from '../dkim/sign.ts';
import { toAsciiDomain } from '../domain/mail-path.ts';
import { hidePassword, parseTransport } from '../domain/transport-url.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { createDomainStore, type DkimKeyRow, type DomainRow } from '../store/domain-store.ts';
import { findRecipient } from '../store/recipient-store.ts';
import { listConfiguredDomains } from './hosted-domains.ts';
import { dkimKeyContext } from './sealed-secrets.ts';
import { sealTransport, unsealTransport } from './transport-secret.ts';

export interface DomainChange {
  readonly is_hosted?: boolean | undefined;
  /** Main domain, whose addresses receive this domain's mail; null if this domain has addresses of its own. */
  readonly alias_of?: string | null | undefined;
  /** Address of an account here that receives mail for unknown addresses; null removes the catch-all. */
  readonly catch_all?: string | null | undefined;
  readonly transport?: string | null | undefined;
  readonly is_held?: boolean | undefined;
}

export interface DnsRecord {
  readonly type: 'TXT' | 'MX' | 'SRV';
  readonly name: string;
  /** Value to publish. Null for MX, because the host depends on how the operator receives mail (Email Routing, an SMTP gateway). */
  readonly value: string | null;
  readonly purpose: string;
  /** Whether DNS has the record; null if the look-up failed. */
  readonly seen: boolean | null;
}

export const NO_DOMAIN = problem(404, 'no_such_domain', 'Unknown domain.');
const HAS_ALIASES = problem(
  409,
  'domain_has_aliases',
  'Other domains are aliases of this one. Change or delete them first.',
);

/** @returns the row of a configured domain, which is hosted without a row in DIRECTORY; null for any other domain. */
function toConfigured(env: Env, domain: string): DomainRow | null {
  if (!listConfiguredDomains(env).includes(domain)) return null;
  return { domain, isHosted: true, aliasOf: null, catchAllUserId: null, transport: null, isHeld: false, createdAt: 0 };
}

export async function findDomain(env: Env, name: string): Promise<DomainRow | null> {
  const domain = toAsciiDomain(name);
  if (domain === null) return null;
  const row = (await createDomainStore(env.DIRECTORY).findDomain(domain)) ?? null;
  const configured = toConfigured(env, domain);
  return row ? { ...row, isHosted: row.isHosted || configured !== null } : configured;
}

/** Lists the domains of DIRECTORY and of the configuration together, sorted by name. */
export async function listDomains(env: Env, after: string, limit: number): Promise<DomainRow[]> {
  const rows = await createDomainStore(env.DIRECTORY).listDomains(after, limit);
  const missing = listConfiguredDomains(env).filter(
    (domain) => domain > after && !rows.some((row) => row.domain === domain),
  );
  const configured = missing.flatMap((domain) => toConfigured(env, domain) ?? []);
  return [...rows, ...configured].sort((a, b) => (a.domain < b.domain ? -1 : 1)).slice(0, limit);
}

/** Adds or changes a domain. */
export async function saveDomain(
  env: Env,
  name: string,
  change: DomainChange,
  toAudit: (domain: string) => AuditRow,
): Promise<Result<DomainRow, Problem>> {
  const domain = toAsciiDomain(name);
  if (domain === null) return err(toBadRequest('domain', 'Not a valid domain name.'));
  const before = await findDomain(env, domain);
  let catchAllUserId = before?.catchAllUserId ?? null;
  if (change.catch_all !== undefined) {
    const found = change.catch_all === null ? null : await findRecipient(env, [change.catch_all.toLowerCase()]);
    if (change.catch_all !== null && !found) return err(toBadRequest('catch_all', 'No account has this address.'));
    catchAllUserId = found?.userId ?? null;
  }
  let transport = before?.transport ?? null;
  if (change.transport !== undefined) {
    const fault = change.transport === null ? null : parseTransport(change.transport);
    if (typeof fault === 'string') return err(toBadRequest('transport', fault));
    transport = change.transport === null ? null : sealTransport(change.transport, env);
  }
  const isHosted = change.is_hosted ?? before?.isHosted ?? true;
  const aliasOf = await decideMainDomain(env, domain, change, before);
  if (!aliasOf.ok) return aliasOf;
  if (aliasOf.value !== null && (!isHosted || catchAllUserId !== null))
    return err(toBadRequest('alias_of', 'An alias is hosted and has no catch-all of its own.'));
  if (!isHosted && before?.isHosted && (await createDomainStore(env.DIRECTORY).hasAliases(domain)))
    return err(HAS_ALIASES);
  const row: DomainRow = {
    domain,
    isHosted,
    aliasOf: aliasOf.value,
    catchAllUserId,
    transport,
    isHeld: change.is_held ?? before?.isHeld ?? false,
    createdAt: before?.createdAt || createClock(env)(),
  };
  await createDomainStore(env.DIRECTORY).saveDomain(row, toAudit(domain));
  if (row.isHosted) await ensureDkimKeys(env, domain);
  return ok(row);
}

/**
 * Decides the main domain of an alias: the one in the change if it names one, otherwise the current one. A main domain cannot
 * itself be an alias, so an address is found in one step.
 */
async function decideMainDomain(
  env: Env,
  domain: string,
  { alias_of: wanted }: DomainChange,
  before: DomainRow | null,
): Promise<Result<string | null, Problem>> {
  if (wanted === undefined) return ok(before?.aliasOf ?? null);
  if (wanted === null) return ok(null);
  if (listConfiguredDomains(env).includes(domain))
    return err(toBadRequest('alias_of', 'A domain of the configuration cannot be an alias.'));
  const main = await findDomain(env, wanted);
  if (!main?.isHosted || main.aliasOf !== null || main.domain === domain)
    return err(toBadRequest('alias_of', 'Name another hosted domain that is not an alias itself.'));
  return (await createDomainStore(env.DIRECTORY).hasAliases(domain)) ? err(HAS_ALIASES) : ok(main.domain);
}

export async function deleteDomain(
  env: Env,
  name: string,
  toAudit: (domain: string) => AuditRow,
): Promise<Result<null, Problem>> {
  const domain = toAsciiDomain(name) ?? name;
  const store = createDomainStore(env.DIRECTORY);
  if (await store.hasAliases(domain)) return err(HAS_ALIASES);
  return (await store.deleteDomain(domain, toAudit(domain))) ? ok(null) : err(NO_DOMAIN);
}

/** Creates an RSA-2048 and an Ed25519 key. Both sign from the next message on, so their DNS records must be published at once. */
export async function createDkimKeys(
  env: Env,
  name: string,
  toAudit: (domain: string, selectors: string) => AuditRow,
): Promise<Result<DkimKeyRow[], Problem>> {
  const row = await findDomain(env, name);
  if (!row?.isHosted) return err(NO_DOMAIN);
  const keys = await generateDkimKeys(env, row.domain);
  const selectors = keys.map((key) => key.selector).join(' ');
  await createDomainStore(env.DIRECTORY).insertDkimKeys(keys, toAudit(row.domain, selectors));
  return ok(keys);
}

/**
 * Creates the first keys of a hosted domain. Does nothing if the domain has keys. Domains of the configuration get theirs by
 * `createDkimKeys`.
 */
async function ensureDkimKeys(env: Env, domain: string): Promise<void> {
  const store = createDomainStore(env.DIRECTORY);
  if ((await store.listDkimKeys(domain)).length > 0) return;
  await store.insertFirstDkimKeys(domain, await generateDkimKeys(env, domain));
}

async function generateDkimKeys(env: Env, domain: string): Promise<DkimKeyRow[]> {
  const now = createClock(env)();
  const stamp = new Date(now).toISOString().slice(0, 10).replaceAll('-', '');
  const unique = crypto.randomUUID().slice(0, 4);
  const algorithms: [DkimAlgorithm, string][] = [
    ['rsa-sha256', 'rsa'],
    ['ed25519-sha256', 'ed'],
  ];
  const keys: DkimKeyRow[] = [];
  for (const [algorithm, short] of algorithms) {
    const selector = `${short}${stamp}${unique}`;
    const { privateKey, publicKey } = await generateDkimKey(algorithm);
    const privateKeySealed = sealSecret(privateKey, dkimKeyContext(domain, selector), env);
    keys.push({ domain, selector, algorithm, publicKey, privateKeySealed, createdAt: now });
  }
  return keys;
}

/** @returns the DNS records that a hosted domain should publish, and whether DNS has each of them. */
export async function listDnsRecords(env: Env, row: DomainRow): Promise<DnsRecord[]> {
  const keys = await createDomainStore(env.DIRECTORY).listDkimKeys(row.domain);
  const { resolveDns } = createCheckDependencies(env);
  const wanted: Omit<DnsRecord, 'seen'>[] = [
    { type: 'MX', name: row.domain, value: null, purpose: 'MX: where mail is delivered' },
    {
      type: 'TXT',
      name: row.domain,
      value: 'v=spf1 include:_spf.mx.cloudflare.net ~all',
      purpose: 'SPF: authorized senders',
    },
    {
      type: 'TXT',
      name: `_dmarc.${row.domain}`,
      value: 'v=DMARC1; p=quarantine',
      purpose: 'DMARC: policy for mail that fails authentication',
    },
    ...keys.map((key) => ({
      type: 'TXT' as const,
      name: `${key.selector}._domainkey.${row.domain}`,
      value: toDkimRecord({ algorithm: key.algorithm as DkimAlgorithm, publicKey: key.publicKey }),
      purpose: `DKIM: ${key.algorithm}`,
    })),
    ...listClientRecords(env, row.domain),
  ];
  return Promise.all(
    wanted.map(async (record) => {
      const found = await resolveDns(record.name, record.type);
      if (!found.ok) return { ...record, seen: found.error.kind === 'no_such_domain' ? false : null };
      return { ...record, seen: isPublished(record, found.value) };
    }),
  );
}

/**
 * SRV records for mail clients (RFC 8620 §2.2, RFC 6186, RFC 8314 §5.1). That of JMAP is omitted without APP_HOST, as on a local
 * server; those of IMAP and submission without MAIL_BRIDGE_HOST.
 */
function listClientRecords(env: Env, domain: string): Omit<DnsRecord, 'seen'>[] {
  const { APP_HOST: host } = settingsOf(env);
  const bridge = readBridge(env);
  const toRecord = (service: string, port: number, target: string, purpose: string) => ({
    ...{ type: 'SRV' as const, name: `_${service}._tcp.${domain}`, value: `0 1 ${port} ${target}`, purpose },
  });
  const ofBridge = bridge && [
    toRecord('imaps', bridge.imap_port, bridge.host, 'IMAP: where mail programs read'),
    toRecord('submissions', bridge.submission_port, bridge.host, 'SMTP: where mail programs send'),
  ];
  const ofJmap = host === '' ? [] : [toRecord('jmap', 443, host, 'JMAP: where mail clients connect')];
  return [...ofJmap, ...(ofBridge ?? [])];
}

/**
 * Whether a published record is good enough. A DKIM record must match exactly. Any SPF or DMARC record counts, because its content
 * is the operator's choice.
 */
function isPublished(record: Omit<DnsRecord, 'seen'>, found: readonly string[]): boolean {
  if (record.type === 'MX') return found.length > 0;
  if (record.type === 'SRV') return found.some((target) => target.toLowerCase() === record.value);
  const tag = record.value?.split(/[;\s]/, 1)[0] ?? '';
  if (tag !== 'v=DKIM1') return found.some((text) => text.startsWith(tag));
  const plain = (text: string) => text.replaceAll(/\s/g, '');
  return found.some((text) => plain(text) === plain(record.value ?? ''));
}

/** @returns the transport of a domain without its password. */
export const showTransport = (env: Env, row: DomainRow): string | null =>
  row.transport === null ? null : hidePassword(unsealTransport(row.transport, env));
