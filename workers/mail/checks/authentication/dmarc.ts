/**
 * DMARC (RFC 7489): checks that SPF or DKIM authenticates the domain in From, and otherwise reads the policy of that domain.
 *
 * Gaps: aggregate and failure reports are not sent.
 */
import { createHash } from 'node:crypto';
import { getDomain } from 'tldts';
import type { Result } from '../../../shared/result.ts';
import { ok } from '../../../shared/result.ts';
import { type HeaderField, unfold } from '../../mime/mime-tree.ts';
import { parseAddressList } from '../../mime/parse.ts';
import type { ResolveDns } from '../dependencies.ts';
import type { DkimVerdict, DmarcVerdict, SpfVerdict } from '../verdicts.ts';
import { isDomain } from './dkim.ts';

import { parseTagList } from './tag-list.ts';

type Policy = 'none' | 'quarantine' | 'reject';

interface DmarcRecord {
  readonly policy: Policy;
  readonly subdomainPolicy: Policy;
  readonly percent: number;
  readonly isDkimStrict: boolean;
  readonly isSpfStrict: boolean;
}

export interface DmarcOutcome {
  readonly dmarc: DmarcVerdict;
  readonly dkim: readonly DkimVerdict[];
}

/**
 * The registrable domain, by the public suffix list with its private part (RFC 7489 §3.2). Returns the name itself when there
 * is none.
 */
export const toOrganizationalDomain = (domain: string): string =>
  getDomain(domain, { allowPrivateDomains: true }) ?? domain;

/** @returns the DMARC verdict, and the DKIM verdicts with `aligned` set. */
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
    // Without a single author domain, no policy applies. Quarantine the message, because a client may show a domain
    // that nothing authenticated.
    const reason = `From can be read as ${authors.slice(0, 5).join(', ')}`;
    return { dkim, dmarc: { ...none, domain: '', disposition: 'quarantine', result: 'permerror', reason } };
  }
  const found = await findRecord(domain, resolveDns);
  const record = found.ok ? found.value : null;
  const aligned = dkim.map((one) => ({
    ...one,
    aligned: isAligned(one.domain, domain, record?.isDkimStrict ?? false),
  }));
  if (!found.ok) return { dkim: aligned, dmarc: { ...none, result: 'temperror', reason: found.error } };
  if (record === null)
    return { dkim: aligned, dmarc: { ...none, result: 'none', reason: `${domain} publishes no policy` } };
  const byDkim = aligned.find((one) => one.aligned && one.result === 'pass');
  const isSpfAligned =
    spf.identity === 'mailfrom' || spf.domain !== '' ? isAligned(spf.domain, domain, record.isSpfStrict) : false;
  const policy = found.isOfParent ? record.subdomainPolicy : record.policy;
  if (byDkim)
    return { dkim: aligned, dmarc: { ...none, policy, result: 'pass', reason: `signed by ${byDkim.domain}` } };
  if (isSpfAligned && spf.result === 'pass') {
    return {
      dkim: aligned,
      dmarc: { ...none, policy, result: 'pass', reason: `sent by a client authorized by ${spf.domain}` },
    };
  }
  const isUnsure =
    aligned.some((one) => one.aligned && one.result === 'temperror') || (isSpfAligned && spf.result === 'temperror');
  if (isUnsure)
    return {
      dkim: aligned,
      dmarc: { ...none, policy, result: 'temperror', reason: 'a DNS look-up needed for the decision failed' },
    };
  const disposition = isSampled(headers, record.percent) ? policy : soften(policy);
  const reason = 'neither a signature nor the client is aligned with the From domain';
  return { dkim: aligned, dmarc: { result: 'fail', domain, policy, disposition, reason } };
}

function isAligned(domain: string, from: string, isStrict: boolean): boolean {
  if (domain === '') return false;
  const name = domain.toLowerCase();
  return isStrict ? name === from : toOrganizationalDomain(name) === toOrganizationalDomain(from);
}

/**
 * Decides whether `pct` covers the message. Messages outside the sample get the next milder policy (§6.6.4). The decision is
 * stable for one message.
 */
function isSampled(headers: readonly HeaderField[], percent: number): boolean {
  if (percent >= 100) return true;
  const digest = createHash('sha256')
    .update(headers.map((field) => field.source).join('\n'))
    .digest();
  return digest.readUInt32BE(0) % 100 < percent;
}

const soften = (policy: Policy): Policy => (policy === 'reject' ? 'quarantine' : 'none');

/**
 * The domains that a reader may see as the author's: every From field (one is allowed), each read by the RFC's grammar and by
 * the parser that displays it. The two differ for malformed lists: one reads `ceo@bank.example <x@evil.example>` as one author,
 * the other as another.
 */
export function listAuthorDomains(headers: readonly HeaderField[]): string[] {
  const fields = headers.filter((field) => field.name === 'from').map((field) => unfold(field.value));
  const shown = fields.flatMap((value) => parseAddressList(value).map(({ email }) => toDomain(email)));
  const domains = new Set([...fields.flatMap(scanDomains), ...shown]);
  return [...domains].filter((domain) => domain.includes('.') && isDomain(domain));
}

const toDomain = (address: string): string =>
  address.trim().replace(/^.*@/s, '').trim().toLowerCase().replace(/\.$/, '');

function scanDomains(from: string): string[] {
  const value = from
    .replace(/\\./g, '')
    .replace(/"[^"]*"/g, '')
    .replace(/\([^()]*\)/g, '');
  const inAngles = [...value.matchAll(/<([^<>]*)>/g)].map((match) => match[1] ?? '');
  const addresses = inAngles.length > 0 ? inAngles : value.split(',');
  return addresses.filter((address) => address.includes('@')).map(toDomain);
}

type Found =
  | { readonly ok: true; readonly value: DmarcRecord | null; readonly isOfParent: boolean }
  | { readonly ok: false; readonly error: string };

async function findRecord(domain: string, resolveDns: ResolveDns): Promise<Found> {
  const own = await askRecord(domain, resolveDns);
  if (!own.ok) return own;
  const parent = toOrganizationalDomain(domain);
  if (own.value !== null || parent === domain) return { ...own, isOfParent: false };
  const inherited = await askRecord(parent, resolveDns);
  return inherited.ok ? { ...inherited, isOfParent: true } : inherited;
}

async function askRecord(domain: string, resolveDns: ResolveDns): Promise<Result<DmarcRecord | null, string>> {
  const answer = await resolveDns(`_dmarc.${domain}`, 'TXT');
  if (!answer.ok) {
    if (answer.error.kind === 'no_such_domain') return ok(null);
    return { ok: false, error: `policy look-up for ${domain} failed: ${answer.error.reason}` };
  }
  const records = answer.value.filter((record) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(record));
  // Several records count as none (§6.6.3).
  return ok(records.length === 1 ? readRecord(records[0] ?? '') : null);
}

function readRecord(text: string): DmarcRecord | null {
  const tags = parseTagList(text);
  if (tags === null) return null;
  const read = (name: string): Policy | null => {
    const value = tags.get(name)?.toLowerCase();
    return value === 'none' || value === 'quarantine' || value === 'reject' ? value : null;
  };
  // A record without a valid p= counts as p=none if it has an address for reports (§6.6.3).
  const policy = read('p') ?? (tags.has('rua') ? 'none' : null);
  if (policy === null) return null;
  const percent = Number(tags.get('pct') ?? 100);
  return {
    policy,
    subdomainPolicy: read('sp') ?? policy,
    percent: Number.isInteger(percent) && percent >= 0 && percent <= 100 ? percent : 100,
    isDkimStrict: tags.get('adkim')?.toLowerCase() === 's',
    isSpfStrict: tags.get('aspf')?.toLowerCase() === 's',
  };
}
