/**
 * SPF: checks whether a client may send mail for a domain. Implements `check_host()` of RFC 7208 §4 with its limits on look-ups.
 */
import { type IpAddress, isInNetwork, parseIp } from '../../../shared/pure/ip-address.ts';
import type { ResolveDns } from '../dependencies.ts';
import type { SpfResult, SpfVerdict } from '../verdicts.ts';
import { toALabels } from './a-labels.ts';
import { isDomain } from './dkim.ts';
import { expandMacros, fitDomain, type SpfMacroValues, toReverseName } from './spf-macro.ts';
import {
  isExplanation,
  isSpfRecord,
  parseSpfRecord,
  type SpfMechanism,
  type SpfQualifier,
  type SpfRecord,
} from './spf-record.ts';

/** Limits of look-ups per check (RFC 7208 §4.6.4). */
export const SPF_LOOKUPS_MAX = 10;
export const SPF_VOID_LOOKUPS_MAX = 2;
const SPF_NAMES_MAX = 10;

export interface SpfQuestion {
  readonly clientIp: string | null;
  readonly helo: string | null;
  /** Envelope sender. If it is empty (null sender), the HELO name is checked instead (§2.4). */
  readonly sender: string;
}

export async function checkSpf(question: SpfQuestion, resolveDns: ResolveDns, now: number): Promise<SpfVerdict> {
  const helo = (question.helo ?? '').trim().toLowerCase().replace(/\.$/, '');
  const at = question.sender.lastIndexOf('@');
  const identity = at < 0 ? 'helo' : 'mailfrom';
  const domain = at < 0 ? helo : toALabels(question.sender.slice(at + 1)).replace(/\.$/, '');
  const about = { domain, identity } as const;
  const ip = parseClientIp(question.clientIp ?? '');
  if (ip === null) return { ...about, result: 'none', reason: 'unknown client address' };
  // A name with a single label, or an address, has no policy (§4.3).
  if (!domain.includes('.') || !isDomain(domain) || parseIp(domain) !== null) {
    return { ...about, result: 'none', reason: 'no domain to check' };
  }
  const sender = at < 0 ? `postmaster@${domain}` : at === 0 ? `postmaster${question.sender}` : question.sender;
  const check = new SpfCheck({ ip, sender, helo, now }, resolveDns);
  try {
    const result = await check.checkHost(domain);
    const explanation = result === 'fail' ? await check.explain() : '';
    return { ...about, result, reason: explanation || check.reason };
  } catch (error) {
    if (error instanceof SpfStop) return { ...about, result: error.result, reason: error.message };
    throw error;
  }
}

/**
 * Parses the address of a client. Also accepts an SMTP address literal (RFC 5321 §4.1.3). Ignores the zone of a link-local address.
 */
export const parseClientIp = (text: string): IpAddress | null =>
  parseIp(text.trim().replace(/^\[(?:IPv6:)?|\]$|%.*$/gi, ''));

/** Thrown to end the evaluation of a record, at any depth of includes. */
class SpfStop extends Error {
  readonly result: 'temperror' | 'permerror';

  constructor(result: 'temperror' | 'permerror', reason: string) {
    super(reason);
    this.result = result;
  }
}

/** A label may contain any octet (RFC 2181 §11). A macro may therefore expand to a name that is not a valid host name. */
const isDnsName = (name: string): boolean =>
  name.length <= 253 && name.split('.').every((label) => label.length > 0 && label.length <= 63);

const RESULTS: Readonly<Record<SpfQualifier, SpfResult>> = {
  '+': 'pass',
  '-': 'fail',
  '~': 'softfail',
  '?': 'neutral',
};

class SpfCheck {
  reason = '';
  private readonly values: Omit<SpfMacroValues, 'domain' | 'clientName'>;
  private readonly resolveDns: ResolveDns;
  private lookups = 0;
  private voidLookups = 0;
  private explanation: { text: string; domain: string } | null = null;

  constructor(values: Omit<SpfMacroValues, 'domain' | 'clientName'>, resolveDns: ResolveDns) {
    this.values = values;
    this.resolveDns = resolveDns;
  }

  async checkHost(domain: string): Promise<SpfResult> {
    const record = await this.findRecord(domain);
    if (record === null) {
      this.reason = `${domain} publishes no policy`;
      return 'none';
    }
    for (const mechanism of record.mechanisms) {
      if (!(await this.matches(mechanism, domain))) continue;
      this.reason = `${domain}: ${mechanism.name}${mechanism.value === '' ? '' : `:${mechanism.value}`}`;
      const result = RESULTS[mechanism.qualifier];
      this.explanation = result === 'fail' && record.explanation !== null ? { text: record.explanation, domain } : null;
      return result;
    }
    if (record.redirect === null || record.mechanisms.some((mechanism) => mechanism.name === 'all')) {
      this.reason = `no mechanism of ${domain} matches this client`;
      return 'neutral';
    }
    this.countLookup();
    const target = await this.expandDomain(record.redirect, domain);
    const result = await this.checkHost(target);
    if (result === 'none') throw new SpfStop('permerror', `${domain} redirects to ${target}, which has no policy`);
    return result;
  }

  /** Reads the domain owner's explanation of a failure (§6.2). Returns an empty text after any error. */
  async explain(): Promise<string> {
    if (this.explanation === null) return '';
    const { text, domain } = this.explanation;
    try {
      const answer = await this.resolveDns(await this.expandDomain(text, domain), 'TXT');
      if (!answer.ok || answer.value.length !== 1) return '';
      const [template = ''] = answer.value;
      if (!isExplanation(template)) return '';
      const explanation = await expandMacros(template, this.macroValues(domain));
      return /^[ -~]*$/.test(explanation) ? `${domain} explains: ${explanation.slice(0, 500)}` : '';
    } catch (error) {
      if (error instanceof SpfStop) return '';
      throw error;
    }
  }

  private async findRecord(domain: string): Promise<SpfRecord | null> {
    if (!isDnsName(domain)) return null;
    const answer = await this.resolveDns(domain, 'TXT');
    if (!answer.ok) {
      if (answer.error.kind === 'no_such_domain') return null;
      throw new SpfStop('temperror', `policy look-up for ${domain} failed: ${answer.error.reason}`);
    }
    const records = answer.value.filter(isSpfRecord);
    if (records.length > 1) throw new SpfStop('permerror', `${domain} publishes several policies`);
    const [text] = records;
    if (text === undefined) return null;
    const record = parseSpfRecord(text);
    if (record === null) throw new SpfStop('permerror', `the policy of ${domain} has a syntax error`);
    return record;
  }

  private async matches(mechanism: SpfMechanism, domain: string): Promise<boolean> {
    const { ip } = this.values;
    switch (mechanism.name) {
      case 'all':
        return true;
      case 'ip4':
      case 'ip6': {
        const [kind, prefixBits] =
          mechanism.name === 'ip4' ? (['ipv4', mechanism.bits4] as const) : (['ipv6', mechanism.bits6] as const);
        const address = parseIp(mechanism.value);
        // An IPv4-mapped address after `ip6:` is parsed as an IPv4 network. An `ip6:` mechanism never matches that.
        return address?.kind() === kind && isInNetwork(ip, { address, prefixBits });
      }
      case 'include':
        return this.matchesInclude(await this.target(mechanism, domain));
      case 'a':
        return this.hasAddress(await this.target(mechanism, domain), mechanism);
      case 'mx':
        return this.matchesMx(await this.target(mechanism, domain), mechanism);
      case 'exists':
        return (await this.lookUp(await this.target(mechanism, domain), 'A')).length > 0;
      case 'ptr': {
        const target = (await this.target(mechanism, domain)).toLowerCase();
        const names = await this.validatedNames();
        return names.some((name) => name === target || name.endsWith(`.${target}`));
      }
    }
  }

  /** Expands the target domain of a mechanism. Counts as one of the limited DNS look-ups (§4.6.4). */
  private async target(mechanism: SpfMechanism, domain: string): Promise<string> {
    this.countLookup();
    return mechanism.value === '' ? domain : this.expandDomain(mechanism.value, domain);
  }

  private async matchesInclude(target: string): Promise<boolean> {
    const result = await this.checkHost(target);
    if (result === 'none') throw new SpfStop('permerror', `${target} is included but has no policy`);
    return result === 'pass';
  }

  private async matchesMx(target: string, mechanism: SpfMechanism): Promise<boolean> {
    const exchanges = (await this.lookUp(target, 'MX')).map((record) =>
      record.replace(/^\d+\s+/, '').replace(/\.$/, ''),
    );
    if (exchanges.length > SPF_NAMES_MAX)
      throw new SpfStop('permerror', `${target} has more than ${SPF_NAMES_MAX} mail exchangers`);
    for (const exchange of exchanges) if (await this.hasAddress(exchange, mechanism)) return true;
    return false;
  }

  private async hasAddress(name: string, mechanism: SpfMechanism): Promise<boolean> {
    const { ip } = this.values;
    const isIpv4 = ip.kind() === 'ipv4';
    const prefixBits = isIpv4 ? mechanism.bits4 : mechanism.bits6;
    const addresses = await this.lookUp(name, isIpv4 ? 'A' : 'AAAA');
    return addresses.some((text) => {
      const address = parseIp(text);
      return address !== null && isInNetwork(ip, { address, prefixBits });
    });
  }

  /** @returns the names of the client that resolve back to its address (§5.5); none after an error. */
  private async validatedNames(): Promise<string[]> {
    const { ip } = this.values;
    const answer = await this.resolveDns(toReverseName(ip), 'PTR');
    const validated: string[] = [];
    for (const name of answer.ok ? answer.value.slice(0, SPF_NAMES_MAX) : []) {
      const addresses = await this.resolveDns(name, ip.kind() === 'ipv4' ? 'A' : 'AAAA');
      const isOwn = (text: string) => parseIp(text)?.toString() === ip.toString();
      if (addresses.ok && addresses.value.some(isOwn)) validated.push(name.toLowerCase().replace(/\.$/, ''));
    }
    return validated;
  }

  private async lookUp(name: string, type: 'A' | 'AAAA' | 'MX'): Promise<readonly string[]> {
    const answer = isDnsName(name) ? await this.resolveDns(name, type) : ({ ok: true, value: [] } as const);
    if (!answer.ok && answer.error.kind === 'unreachable') {
      throw new SpfStop('temperror', `look-up of ${name} failed: ${answer.error.reason}`);
    }
    const records = answer.ok ? answer.value : [];
    if (records.length === 0) {
      this.voidLookups += 1;
      if (this.voidLookups > SPF_VOID_LOOKUPS_MAX)
        throw new SpfStop('permerror', 'the policy uses too many names that do not exist');
    }
    return records;
  }

  private countLookup(): void {
    this.lookups += 1;
    if (this.lookups > SPF_LOOKUPS_MAX)
      throw new SpfStop('permerror', `the policy needs more than ${SPF_LOOKUPS_MAX} look-ups`);
  }

  private async expandDomain(text: string, domain: string): Promise<string> {
    return fitDomain(await expandMacros(text, this.macroValues(domain)));
  }

  private macroValues(domain: string): SpfMacroValues {
    const clientName = async () => {
      const names = await this.validatedNames();
      return (
        names.find((name) => name === domain) ??
        names.find((name) => name.endsWith(`.${domain}`)) ??
        names[0] ??
        'unknown'
      );
    };
    return { ...this.values, domain, clientName };
  }
}
