/**
 * Finds DMARC policies and Organizational Domains in DNS by the tree walk of RFC 9989 §4.10.
 *
 * By design, a record at a public suffix of the ICANN list counts as `psd=y` if it has no `psd` tag. Several registries published
 * records before that tag existed. Without this rule, all domains under such a suffix would count as one organization.
 */
import { parse } from 'tldts';
import { ok, type Result } from '../../../shared/pure/result.ts';
import type { ResolveDns } from '../dependencies.ts';
import { type DmarcPolicy, type DmarcRecord, isDmarcRecord, parseDmarcRecord } from './dmarc-record.ts';

/** Maximum of queries per walk (RFC 9989 §4.10). */
const WALK_LABELS_MAX = 8;

interface FoundRecord {
  readonly domain: string;
  readonly record: DmarcRecord;
}

export interface DmarcPolicySource extends FoundRecord {
  /** True if the record was found at a parent domain. */
  readonly isInherited: boolean;
}

/** DNS look-ups for one message. Each name is queried only once. An error says which look-up failed temporarily. */
export interface DmarcDiscovery {
  /** @returns the DMARC record that applies to an Author Domain; null if none does. */
  findPolicy(domain: string): Promise<Result<DmarcPolicySource | null, string>>;
  findOrganizationalDomain(domain: string): Promise<Result<string, string>>;
  /** @returns the policy for an Author Domain. An inherited record may have a different policy for domains that do not exist. */
  choosePolicy(domain: string, source: DmarcPolicySource): Promise<Result<DmarcPolicy, string>>;
}

export function createDmarcDiscovery(resolveDns: ResolveDns): DmarcDiscovery {
  const asked = new Map<string, Promise<Result<DmarcRecord | null, string>>>();
  const ask = (domain: string) => {
    const known = asked.get(domain) ?? askRecord(domain, resolveDns);
    asked.set(domain, known);
    return known;
  };
  return {
    async findPolicy(domain) {
      const walked = await walk(domain, ask, { isStoppedByOwnRecord: true });
      if (!walked.ok) return walked;
      const own = walked.value.find((found) => found.domain === domain);
      if (own) return ok({ ...own, isInherited: false });
      const organization = selectOrganizationalDomain(domain, walked.value);
      const inherited =
        walked.value.find((found) => found.domain === organization) ??
        walked.value.find(({ record }) => record.psd === 'y');
      return ok(inherited ? { ...inherited, isInherited: true } : null);
    },
    async findOrganizationalDomain(domain) {
      const walked = await walk(domain, ask, { isStoppedByOwnRecord: false });
      return walked.ok ? ok(selectOrganizationalDomain(domain, walked.value)) : walked;
    },
    async choosePolicy(domain, { record: { policies }, isInherited }) {
      const { own, subdomain, missing } = policies ?? { own: 'none', subdomain: 'none', missing: 'none' };
      if (!isInherited) return ok(own);
      if (subdomain === missing) return ok(subdomain);
      const exists = await doesExist(domain, resolveDns);
      return exists.ok ? ok(exists.value ? subdomain : missing) : exists;
    },
  };
}

type Ask = (domain: string) => Promise<Result<DmarcRecord | null, string>>;

/** @returns the records found on the way from a domain to the root, the longest name first. */
async function walk(
  domain: string,
  ask: Ask,
  { isStoppedByOwnRecord }: { readonly isStoppedByOwnRecord: boolean },
): Promise<Result<FoundRecord[], string>> {
  const found: FoundRecord[] = [];
  for (const name of listWalkNames(domain)) {
    const answer = await ask(name);
    if (!answer.ok) return answer;
    if (answer.value === null) continue;
    found.push({ domain: name, record: answer.value });
    if (answer.value.psd !== 'u' || (isStoppedByOwnRecord && name === domain)) break;
  }
  return ok(found);
}

/** @returns the names that a walk queries: the domain, then its parents with at most seven labels, down to the top-level domain. */
export function listWalkNames(domain: string): string[] {
  const labels = domain.split('.');
  const parents = labels.slice(Math.max(1, labels.length - WALK_LABELS_MAX + 1));
  return [domain, ...parents.map((_, at) => parents.slice(at).join('.'))];
}

/** Selects the Organizational Domain from the records of a walk (RFC 9989 §4.10.2). */
function selectOrganizationalDomain(domain: string, found: readonly FoundRecord[]): string {
  for (const each of found) {
    if (each.record.psd === 'n') return each.domain;
    if (each.record.psd === 'y' && each.domain !== domain) return toChild(domain, each.domain);
  }
  return found.at(-1)?.domain ?? domain;
}

/** @returns the parent of `domain`, or `domain` itself, that is one label longer than `parent`. */
const toChild = (domain: string, parent: string): string =>
  domain
    .split('.')
    .slice(-(parent.split('.').length + 1))
    .join('.');

async function askRecord(domain: string, resolveDns: ResolveDns): Promise<Result<DmarcRecord | null, string>> {
  const answer = await resolveDns(`_dmarc.${domain}`, 'TXT');
  if (!answer.ok) {
    if (answer.error.kind === 'no_such_domain') return ok(null);
    return { ok: false, error: `policy look-up for ${domain} failed: ${answer.error.reason}` };
  }
  const records = answer.value.filter(isDmarcRecord);
  // If a name has several DMARC records, all of them are discarded.
  const [text] = records;
  if (text === undefined || records.length > 1) return ok(null);
  const record = parseDmarcRecord(text);
  return ok(record.psd === 'u' && isPublicSuffix(domain) ? { ...record, psd: 'y' } : record);
}

function isPublicSuffix(domain: string): boolean {
  const { publicSuffix, isIcann } = parse(domain);
  return isIcann === true && publicSuffix === domain;
}

/** Whether a name exists. NXDOMAIN says that it does not, whatever the type of the query (RFC 8020). */
async function doesExist(domain: string, resolveDns: ResolveDns): Promise<Result<boolean, string>> {
  const answers = await Promise.all((['A', 'AAAA', 'MX'] as const).map((type) => resolveDns(domain, type)));
  if (answers.some((answer) => answer.ok)) return ok(true);
  const failed = answers.flatMap((answer) => (!answer.ok && answer.error.kind === 'unreachable' ? [answer.error] : []));
  const [first] = failed;
  return first ? { ok: false, error: `look-up of ${domain} failed: ${first.reason}` } : ok(false);
}
