/** Parses an SPF record into terms (RFC 7208 §4.6, §5, §6, §12). Checks the whole record before any term is used. */

export type SpfQualifier = '+' | '-' | '~' | '?';
const MECHANISM_NAMES = ['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'] as const;
export type SpfMechanismName = (typeof MECHANISM_NAMES)[number];

export interface SpfMechanism {
  readonly qualifier: SpfQualifier;
  readonly name: SpfMechanismName;
  /** A domain with macros, or an address; empty if omitted. */
  readonly value: string;
  readonly bits4: number;
  readonly bits6: number;
}

export interface SpfRecord {
  readonly mechanisms: readonly SpfMechanism[];
  readonly redirect: string | null;
  readonly explanation: string | null;
}

const MECHANISM =
  /^([+?~-]?)(all|include|a|mx|ptr|ip4|ip6|exists)(?::([^/]*(?:\/(?!\d|\/)[^/]*)*))?((?:\/\d{1,3})?(?:\/\/\d{1,3})?)$/i;
const IP_MECHANISM = /^([+?~-]?)(ip4|ip6):([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i;
const MODIFIER = /^([a-z][a-z0-9_.-]*)=(.*)$/i;

export const isSpfRecord = (text: string): boolean => /^v=spf1(?: |$)/i.test(text);

/** @returns null for a record with any syntax error, which is `permerror`. */
export function parseSpfRecord(text: string): SpfRecord | null {
  const mechanisms: SpfMechanism[] = [];
  let redirect: string | null = null;
  let explanation: string | null = null;
  for (const term of text.slice(6).split(' ')) {
    if (term === '') continue;
    const mechanism = parseMechanism(term);
    if (mechanism !== null) {
      mechanisms.push(mechanism);
      continue;
    }
    const [, name = '', value = ''] = MODIFIER.exec(term) ?? [];
    if (name === '' || !hasValidMacros(value)) return null;
    const lower = name.toLowerCase();
    if (lower === 'redirect') {
      if (redirect !== null || value === '') return null;
      redirect = value;
    } else if (lower === 'exp') {
      if (explanation !== null || value === '') return null;
      explanation = value;
    }
  }
  return { mechanisms, redirect, explanation };
}

function parseMechanism(term: string): SpfMechanism | null {
  const address = IP_MECHANISM.exec(term);
  if (address) {
    const [, qualifier, name = '', value = '', bits] = address;
    const most = name.toLowerCase() === 'ip4' ? 32 : 128;
    if (Number(bits ?? most) > most) return null;
    const common = { qualifier: toQualifier(qualifier), value, bits4: Number(bits ?? 32), bits6: Number(bits ?? 128) };
    return { ...common, name: most === 32 ? 'ip4' : 'ip6' };
  }
  const [whole, qualifier, rawName = '', value, bits = ''] = MECHANISM.exec(term) ?? [];
  const name = MECHANISM_NAMES.find((each) => each === rawName.toLowerCase());
  if (whole === undefined || name === undefined) return null;
  const [, four, six] = /^(?:\/(\d+))?(?:\/\/(\d+))?$/.exec(bits) ?? [];
  const hasBits = bits !== '';
  const isBad =
    name === 'ip4' ||
    name === 'ip6' ||
    (name === 'all' && (value !== undefined || hasBits)) ||
    ((name === 'include' || name === 'exists') && (!value || hasBits)) ||
    (name === 'ptr' && hasBits) ||
    value === '' ||
    Number(four ?? 0) > 32 ||
    Number(six ?? 0) > 128 ||
    !hasValidMacros(value ?? '');
  if (isBad) return null;
  return {
    qualifier: toQualifier(qualifier),
    name,
    value: value ?? '',
    bits4: Number(four ?? 32),
    bits6: Number(six ?? 128),
  };
}

const toQualifier = (text: string | undefined): SpfQualifier =>
  text === '-' || text === '~' || text === '?' ? text : '+';

/** Allows `%{…}`, `%%`, `%_` and `%-` only (§7.1). The letters c, r and t are for explanations only. */
export const hasValidMacros = (text: string): boolean =>
  !/%/.test(text.replace(/%\{[slodiphvcrt]\d{0,3}r?[.+,/_=-]*\}|%%|%_|%-/gi, ''));
