/** Parses an SPF record into terms (RFC 7208 §4.6, §5, §6, §12). The whole record is checked before any term is used. */
import { parseIp } from '../../../shared/pure/ip-address.ts';

export type SpfQualifier = '+' | '-' | '~' | '?';
const MECHANISM_NAMES = ['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'] as const;
export type SpfMechanismName = (typeof MECHANISM_NAMES)[number];

export interface SpfMechanism {
  readonly qualifier: SpfQualifier;
  readonly name: SpfMechanismName;
  /** Argument of the mechanism: a domain with macros, or an address; empty if omitted. */
  readonly value: string;
  readonly bits4: number;
  readonly bits6: number;
}

export interface SpfRecord {
  readonly mechanisms: readonly SpfMechanism[];
  readonly redirect: string | null;
  readonly explanation: string | null;
}

const MECHANISM = /^([+?~-]?)([a-z0-9]+)(?::(.*?))?((?:\/\d+)?(?:\/\/\d+)?)$/i;
const MODIFIER = /^([a-z][a-z0-9_.-]*)=(.*)$/i;
/** Prefix lengths of IPv4 and IPv6 addresses. They have no leading zero (§5.6). */
const PREFIX_LENGTHS = /^(?:\/(0|[1-9]\d?))?(?:\/\/(0|[1-9]\d{0,2}))?$/;

/** Pattern of a macro with one of the given letters (§7.1). Explanations may also use `c`, `r` and `t` (§7.2). */
const toMacroPattern = (letters: string) => `%\\{[${letters}](?:0*[1-9]\\d*)?r?[.+,/_=-]*\\}|%%|%_|%-`;
const MACRO = toMacroPattern('slodiphv');
const MACRO_OF_EXPLANATION = toMacroPattern('slodiphvcrt');
const LITERAL = '[!-$&-~]';
/** Top label of a domain: letters, digits and inner hyphens, not only digits (§7.1). */
const TOP_LABEL = '(?=[a-z0-9-]*[a-z-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const DOMAIN_SPEC = new RegExp(`^(?:${MACRO}|${LITERAL})*(?:\\.${TOP_LABEL}\\.?|${MACRO})$`, 'i');
const MACRO_STRING = new RegExp(`^(?:${MACRO_OF_EXPLANATION}|${LITERAL})*$`, 'i');
const EXPLANATION = new RegExp(`^(?:${MACRO_OF_EXPLANATION}|${LITERAL}| )*$`, 'i');

export const isSpfRecord = (text: string): boolean => /^v=spf1(?: |$)/i.test(text);

/** Pattern of an explanation's text: printable ASCII with valid macros (§6.2). */
export const isExplanation = (text: string): boolean => EXPLANATION.test(text);

/** @returns the parsed record; null for any syntax error, which means `permerror`. */
export function parseSpfRecord(text: string): SpfRecord | null {
  // A record is US-ASCII (§3.1), and only spaces separate its terms (§4.6.1).
  if (/[^ -~]/.test(text)) return null;
  const mechanisms: SpfMechanism[] = [];
  const modifiers = new Map<string, string>();
  for (const term of text.slice(6).split(' ')) {
    if (term === '') continue;
    const [, name, value = ''] = MODIFIER.exec(term) ?? [];
    if (name === undefined) {
      const mechanism = parseMechanism(term);
      if (mechanism === null) return null;
      mechanisms.push(mechanism);
    } else if (!addModifier(modifiers, name.toLowerCase(), value)) return null;
  }
  return { mechanisms, redirect: modifiers.get('redirect') ?? null, explanation: modifiers.get('exp') ?? null };
}

/** Adds a modifier to the list. @returns false for a syntax error. Unknown modifiers are ignored (§6). */
function addModifier(modifiers: Map<string, string>, name: string, value: string): boolean {
  if (name !== 'redirect' && name !== 'exp') return MACRO_STRING.test(value);
  if (modifiers.has(name) || !DOMAIN_SPEC.test(value)) return false;
  modifiers.set(name, value);
  return true;
}

function parseMechanism(term: string): SpfMechanism | null {
  const [whole, sign, rawName = '', value, prefix = ''] = MECHANISM.exec(term) ?? [];
  const name = MECHANISM_NAMES.find((each) => each === rawName.toLowerCase());
  if (whole === undefined || name === undefined) return null;
  const qualifier = toQualifier(sign);
  if (name === 'ip4' || name === 'ip6') return parseNetwork(qualifier, name, value ?? '', prefix);
  const [matched, four, six] = PREFIX_LENGTHS.exec(prefix) ?? [];
  const isBad =
    matched === undefined ||
    Number(four ?? 0) > 32 ||
    Number(six ?? 0) > 128 ||
    (prefix !== '' && name !== 'a' && name !== 'mx') ||
    (value === undefined ? name === 'include' || name === 'exists' : name === 'all' || !DOMAIN_SPEC.test(value));
  if (isBad) return null;
  return { qualifier, name, value: value ?? '', bits4: Number(four ?? 32), bits6: Number(six ?? 128) };
}

/** Parses the network of `ip4:` and `ip6:` (§5.6). */
function parseNetwork(
  qualifier: SpfQualifier,
  name: 'ip4' | 'ip6',
  value: string,
  prefix: string,
): SpfMechanism | null {
  const bitsMax = name === 'ip4' ? 32 : 128;
  const bits = /^(?:\/(0|[1-9]\d{0,2}))?$/.exec(prefix);
  const isAddress = parseIp(value) !== null && value.includes(':') === (name === 'ip6');
  if (!isAddress || bits === null || Number(bits[1] ?? 0) > bitsMax) return null;
  return { qualifier, name, value, bits4: Number(bits[1] ?? 32), bits6: Number(bits[1] ?? 128) };
}

const toQualifier = (text: string | undefined): SpfQualifier =>
  text === '-' || text === '~' || text === '?' ? text : '+';
