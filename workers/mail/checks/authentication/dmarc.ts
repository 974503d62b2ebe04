/**
 * DMARC (RFC 9989): checks whether SPF or DKIM authenticates the domain in From. If not, the policy of that domain applies.
 *
 * Gaps: aggregate and failure reports are not sent.
 */
import { getDomain } from 'tldts';
import { ok, type Result } from '../../../shared/pure/result.ts';
import { type HeaderField, unfold } from '../../mime/mime-tree.ts';
import { parseAddressList } from '../../mime/parse.ts';
import type { ResolveDns } from '../dependencies.ts';
import type { DkimVerdict, DmarcVerdict, SpfVerdict } from '../verdicts.ts';
import { decodeRawUtf8, toALabels } from './a-labels.ts';
import { isDomain } from './dkim.ts';
import { createDmarcDiscovery, type DmarcDiscovery, type DmarcPolicySource } from './dmarc-discovery.ts';
import type { DmarcPolicy } from './dmarc-record.ts';

export interface DmarcOutcome {
  readonly dmarc: DmarcVerdict;
  readonly dkim: readonly DkimVerdict[];
}

/**
 * @returns the registrable domain by the public suffix list with its private part; the name itself if there is none. DMARC finds
 * Organizational Domains in DNS instead (`dmarc-discovery.ts`). This function is for domains without a policy, and for results that
 * other servers recorded.
 */
export const toOrganizationalDomain = (domain: string): string =>
  getDomain(domain, { allowPrivateDomains: true }) ?? domain;

/** Checks DMARC. @returns the DMARC verdict, and the DKIM verdicts with `aligned` set. */
export async function checkDmarc(
  headers: readonly HeaderField[],
  spf: SpfVerdict,
  dkim: readonly DkimVerdict[],
  resolveDns: ResolveDns,
): Promise<DmarcOutcome> {
  const authors = listAuthorDomains(headers);
  const [domain = ''] = authors;
  const none = { domain, policy: null, disposition: 'none' } as const;
  if (authors.length === 0) return { dkim, dmarc: { ...none, result: 'permerror', reason: 'From has no domain' } };
  if (authors.length > 1) {
    // Without a single author domain, no policy applies. Quarantine protects from an unauthenticated domain that a client may show.
    const reason = `From can be read as ${authors.slice(0, 5).join(', ')}`;
    return { dkim, dmarc: { ...none, domain: '', disposition: 'quarantine', result: 'permerror', reason } };
  }
  const discovery = createDmarcDiscovery(resolveDns);
  const source = await discovery.findPolicy(domain);
  if (!source.ok) return { dkim, dmarc: { ...none, result: 'temperror', reason: source.error } };
  if (source.value === null || source.value.record.policies === null) {
    const aligned = dkim.map((one) => ({ ...one, aligned: isSameSite(one.domain, domain) }));
    const reason = source.value
      ? `the record of ${source.value.domain} has no valid policy`
      : `${domain} publishes no policy`;
    return { dkim: aligned, dmarc: { ...none, result: 'none', reason } };
  }
  return applyPolicy(domain, source.value, spf, dkim, discovery);
}

async function applyPolicy(
  domain: string,
  source: DmarcPolicySource,
  spf: SpfVerdict,
  dkim: readonly DkimVerdict[],
  discovery: DmarcDiscovery,
): Promise<DmarcOutcome> {
  const { isDkimStrict, isSpfStrict, isTest } = source.record;
  const alignments = await Promise.all(dkim.map((one) => isAligned(one.domain, domain, isDkimStrict, discovery)));
  const aligned = dkim.map((one, at) => ({ ...one, aligned: alignments[at]?.ok ? alignments[at].value : false }));
  const spfAlignment = await isAligned(spf.domain, domain, isSpfStrict, discovery);
  const isSpfAligned = spfAlignment.ok && spfAlignment.value;
  const chosen = await discovery.choosePolicy(domain, source);
  const policy = chosen.ok ? chosen.value : null;
  const verdict = (result: DmarcVerdict['result'], reason: string, disposition: DmarcPolicy = 'none') => ({
    dkim: aligned,
    dmarc: { result, domain, policy, disposition, reason },
  });
  const byDkim = aligned.find((one) => one.aligned && one.result === 'pass');
  if (byDkim) return verdict('pass', `signed by ${byDkim.domain}`);
  if (isSpfAligned && spf.result === 'pass') return verdict('pass', `sent by a client authorized by ${spf.domain}`);
  const isUnsure =
    aligned.some(
      (one, at) => mayPass(one.result, alignments[at]) && (one.result === 'temperror' || !alignments[at]?.ok),
    ) ||
    (mayPass(spf.result, spfAlignment) && (spf.result === 'temperror' || !spfAlignment.ok));
  if (isUnsure || policy === null) return verdict('temperror', 'a DNS look-up needed for the decision failed');
  const reason = 'neither a signature nor the client is aligned with the From domain';
  return verdict('fail', reason, isTest ? soften(policy) : policy);
}

/** True if this identifier may still prove authentic and aligned once DNS answers. */
const mayPass = (result: string, alignment: Result<boolean, string> | undefined): boolean =>
  (result === 'pass' || result === 'temperror') && (alignment === undefined || !alignment.ok || alignment.value);

/**
 * Whether an authenticated identifier is aligned with the domain in From (RFC 9989 §4.10.2).
 * @returns an error if the Organizational Domains could not be looked up.
 */
async function isAligned(
  identifier: string,
  from: string,
  isStrict: boolean,
  discovery: DmarcDiscovery,
): Promise<Result<boolean, string>> {
  const name = identifier.toLowerCase();
  if (name === '' || name === from || isStrict) return ok(name === from);
  if (!isDomain(name) || !sharesParent(name, from)) return ok(false);
  const author = await discovery.findOrganizationalDomain(from);
  if (!author.ok) return author;
  // An Organizational Domain is the name itself or a parent. So only names at or below the author's can be aligned and need a walk.
  if (name !== author.value && !name.endsWith(`.${author.value}`)) return ok(false);
  const organization = await discovery.findOrganizationalDomain(name);
  return organization.ok ? ok(organization.value === author.value) : organization;
}

/** False if two names differ in their last label; they then cannot belong to one organization. */
const sharesParent = (left: string, right: string): boolean =>
  left.slice(left.lastIndexOf('.') + 1) === right.slice(right.lastIndexOf('.') + 1);

/** True if two domains are aligned by the public suffix list. For domains without a policy. */
export const isSameSite = (domain: string, from: string): boolean =>
  domain !== '' && toOrganizationalDomain(domain.toLowerCase()) === toOrganizationalDomain(from);

/** @returns the policy one level milder, for a record with `t=y` (RFC 9989 §4.7). */
const soften = (policy: DmarcPolicy): DmarcPolicy => (policy === 'reject' ? 'quarantine' : 'none');

/**
 * @returns the domains that a reader may take for the author's. Reads every From field, although only one is allowed. Reads each
 * field by the RFC's grammar and by the parser whose result is displayed, because these differ for malformed lists: for
 * `ceo@bank.example <x@evil.example>`, they find different authors.
 */
export function listAuthorDomains(headers: readonly HeaderField[]): string[] {
  const fields = headers.filter((field) => field.name === 'from').map((field) => decodeRawUtf8(unfold(field.value)));
  const shown = fields.flatMap((value) => parseAddressList(value).map(({ email }) => toDomain(email)));
  const domains = new Set([...fields.flatMap(scanDomains), ...shown]);
  return [...domains].filter((domain) => domain.includes('.') && isDomain(domain));
}

const toDomain = (address: string): string => toALabels(address.trim().replace(/^.*@/s, '').trim().replace(/\.$/, ''));

function scanDomains(from: string): string[] {
  const value = from
    .replace(/\\./g, '')
    .replace(/"[^"]*"/g, '')
    .replace(/\([^()]*\)/g, '');
  const inAngles = [...value.matchAll(/<([^<>]*)>/g)].map((match) => match[1] ?? '');
  const addresses = inAngles.length > 0 ? inAngles : value.split(',');
  return addresses.filter((address) => address.includes('@')).map(toDomain);
}
