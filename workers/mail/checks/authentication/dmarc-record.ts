/**
 * Parses DMARC policy records (RFC 9989 §4.7). Tolerant: unknown tags and syntax errors after `v=` are ignored, so a typing error
 * does not switch a policy off. DKIM's strict parser is in `tag-list.ts`. Pure.
 *
 * By design, where RFC 7489 and RFC 9989 differ, RFC 9989 decides: `pct`, `rf` and `ri` are ignored, `np`, `psd` and `t` are read.
 */

export type DmarcPolicy = 'none' | 'quarantine' | 'reject';

export interface DmarcRecord {
  /**
   * Policies for the domain, its subdomains, and subdomains that do not exist. Null if the record requests no DMARC processing:
   * it has no valid `p`, or an invalid `sp` or `np`, and no address for reports (RFC 9989 §4.10.1).
   */
  readonly policies: {
    readonly own: DmarcPolicy;
    readonly subdomain: DmarcPolicy;
    readonly missing: DmarcPolicy;
  } | null;
  /** What the domain is. `y`: a public suffix. `n`: an Organizational Domain. `u`: unknown, the default. */
  readonly psd: 'y' | 'n' | 'u';
  /** True for `t=y`: the domain owner requests the next milder policy. */
  readonly isTest: boolean;
  readonly isDkimStrict: boolean;
  readonly isSpfStrict: boolean;
}

/** Beginning of a DMARC record: `v` must be the first tag, and its value is case-sensitive. */
const VERSION = /^v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/;
const VERSION_ANY_NAME_CASE = /^V/;
const TAG = /^\s*([A-Za-z]+)\s*=(.*)$/s;
/** URI for reports (RFC 3986 §3.1). A suffix such as `!10m` is obsolete and ignored. */
const REPORT_URI = /^[a-z][a-z0-9+.-]*:[^\s;,]+$/i;

/** True for a TXT record that identifies itself as a DMARC policy. */
export const isDmarcRecord = (text: string): boolean => VERSION.test(text.replace(VERSION_ANY_NAME_CASE, 'v'));

/** Parses a DMARC record. @param text a record for which `isDmarcRecord` is true. */
export function parseDmarcRecord(text: string): DmarcRecord {
  const tags = readTags(text);
  const psd = tags.get('psd')?.toLowerCase();
  return {
    policies: readPolicies(tags),
    psd: psd === 'y' || psd === 'n' ? psd : 'u',
    isTest: tags.get('t')?.toLowerCase() === 'y',
    isDkimStrict: tags.get('adkim')?.toLowerCase() === 's',
    isSpfStrict: tags.get('aspf')?.toLowerCase() === 's',
  };
}

/** Reads the tags of a record. Skips pieces that are not `name=value`. Of repeated tags, the first one counts. */
function readTags(text: string): Map<string, string> {
  const tags = new Map<string, string>();
  for (const piece of text.split(';')) {
    const [, name, value] = TAG.exec(piece) ?? [];
    const key = name?.toLowerCase();
    if (key !== undefined && value !== undefined && !tags.has(key)) tags.set(key, value.trim());
  }
  return tags;
}

function readPolicies(tags: ReadonlyMap<string, string>): DmarcRecord['policies'] {
  const [own, subdomain, missing] = ['p', 'sp', 'np'].map((name) => toPolicy(tags.get(name)));
  const isValid = own && (subdomain || !tags.has('sp')) && (missing || !tags.has('np'));
  if (isValid) return { own, subdomain: subdomain ?? own, missing: missing ?? subdomain ?? own };
  const wantsReports = (tags.get('rua') ?? '').split(',').some((uri) => REPORT_URI.test(uri.trim()));
  return wantsReports ? { own: 'none', subdomain: 'none', missing: 'none' } : null;
}

function toPolicy(value: string | undefined): DmarcPolicy | null {
  const policy = value?.toLowerCase();
  return policy === 'none' || policy === 'quarantine' || policy === 'reject' ? policy : null;
}
