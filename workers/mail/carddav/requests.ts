/** Parses bodies of PROPFIND (RFC 4918 §9.1) and of REPORT (RFC 6352 §8, RFC 6578 §3). Pure. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { readXml, type XmlElement } from '../../shared/xml/xml-reader.ts';
import type { CardFilter, MatchType, ParameterFilter, PropertyFilter, TextMatch } from '../domain/card-filter.ts';
import { CARDDAV, DAV, type QualifiedName } from './multistatus.ts';

/** A request of all cards by name has one element for each. */
const BOUNDS = { depthMax: 12, valuesMax: 25_000 };
const PROPERTIES_MAX = 40;
const NAME_LENGTH_MAX = 100;
/** Conditions of a filter. Each is tested against each card. */
const CONDITIONS_MAX = 50;

/** Properties that a request asks for; `all` are those that a server gives unasked. */
export type Wanted = 'all' | 'names' | readonly QualifiedName[];

export type Report =
  | { readonly kind: 'multiget'; readonly wanted: Wanted; readonly hrefs: readonly string[] }
  | {
      readonly kind: 'query';
      readonly wanted: Wanted;
      readonly filter: CardFilter;
      readonly limit: number | null;
    }
  | { readonly kind: 'sync'; readonly wanted: Wanted; readonly token: string; readonly limit: number | null };

/** `malformed`: 400. `unknown`: a report or a filter that the server does not have. */
export type Fault = 'malformed' | 'unknown_report' | 'unknown_filter';

/** @returns what a PROPFIND asks for; null if the body is malformed. An empty body asks for all. */
export function parsePropfind(body: string): Wanted | null {
  if (body.trim() === '') return 'all';
  const root = readXml(body, BOUNDS);
  return root && isDav(root, 'propfind') ? findWanted(root) : null;
}

export function parseReport(body: string): Result<Report, Fault> {
  const root = readXml(body, BOUNDS);
  if (!root) return err('malformed');
  const wanted = findWanted(root) ?? null;
  if (wanted === null) return err('malformed');
  const limit = findLimit(root);
  if (isDav(root, 'sync-collection')) {
    const token = textOf(root, 'sync-token').trim();
    const level = textOf(root, 'sync-level').trim();
    return level === '1' || level === '' ? ok({ kind: 'sync', wanted, token, limit }) : err('malformed');
  }
  if (root.namespace !== CARDDAV) return err('unknown_report');
  if (root.name === 'addressbook-multiget') {
    const hrefs = root.children.filter((child) => isDav(child, 'href')).map(({ text }) => text.trim());
    return ok({ kind: 'multiget', wanted, hrefs: [...new Set(hrefs)] });
  }
  if (root.name !== 'addressbook-query') return err('unknown_report');
  const filter = toFilter(root.children.find(({ name }) => name === 'filter'));
  return filter.ok ? ok({ kind: 'query', wanted, filter: filter.value, limit }) : filter;
}

const isDav = ({ namespace, name }: XmlElement, wanted: string): boolean => namespace === DAV && name === wanted;
const textOf = (root: XmlElement, name: string): string =>
  root.children.find((child) => isDav(child, name))?.text ?? '';

function findLimit(root: XmlElement): number | null {
  const limit = root.children.find(({ name }) => name === 'limit');
  const count = Number(limit?.children.find(({ name }) => name === 'nresults')?.text.trim() ?? Number.NaN);
  return Number.isSafeInteger(count) && count > 0 ? count : null;
}

function findWanted(root: XmlElement): Wanted | null {
  if (root.children.some((child) => isDav(child, 'propname'))) return 'names';
  const prop = root.children.find((child) => isDav(child, 'prop'));
  if (!prop) return 'all';
  const names = new Map<string, QualifiedName>();
  for (const { namespace, name } of prop.children) names.set(`${namespace} ${name}`, { namespace, name });
  const wanted = [...names.values()];
  const isNamed = ({ namespace, name }: QualifiedName): boolean =>
    /^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(name) && name.length <= NAME_LENGTH_MAX && namespace.length <= NAME_LENGTH_MAX;
  return wanted.length <= PROPERTIES_MAX && wanted.every(isNamed) ? wanted : null;
}

function toFilter(filter: XmlElement | undefined): Result<CardFilter, Fault> {
  if (!filter) return ok({ isAll: false, properties: [] });
  const count = ({ children }: XmlElement): number => children.reduce((sum, child) => sum + count(child), 1);
  if (count(filter) > CONDITIONS_MAX) return err('unknown_filter');
  const properties: PropertyFilter[] = [];
  for (const element of filter.children) {
    const property = element.name === 'prop-filter' ? toPropertyFilter(element) : null;
    if (property === null) return err('unknown_filter');
    properties.push(property);
  }
  return ok({ isAll: filter.attributes.test === 'allof', properties });
}

function toPropertyFilter({ attributes, children }: XmlElement): PropertyFilter | null {
  const matches = children.filter(({ name }) => name === 'text-match').map(toTextMatch);
  const parameters = children.filter(({ name }) => name === 'param-filter').map(toParameterFilter);
  const isAbsent = children.some(({ name }) => name === 'is-not-defined');
  const isKnown = matches.length + parameters.length + (isAbsent ? 1 : 0) === children.length;
  const isUsable = (match: TextMatch | null): match is TextMatch => match !== null;
  if (!isKnown || !matches.every(isUsable) || !parameters.every((parameter) => parameter !== null)) return null;
  return { name: attributes.name ?? '', isAbsent, isAll: attributes.test === 'allof', matches, parameters };
}

function toParameterFilter({ attributes, children }: XmlElement): ParameterFilter | null {
  const [child] = children;
  const isAbsent = child?.name === 'is-not-defined';
  const match = child && !isAbsent ? toTextMatch(child) : null;
  return child && !isAbsent && match === null ? null : { name: attributes.name ?? '', isAbsent, match };
}

const MATCH_TYPES: readonly string[] = ['equals', 'contains', 'starts-with', 'ends-with'] satisfies MatchType[];
/** Collations (RFC 6352 §8.3). The first two compare small and capital letters as the same. */
const COLLATIONS = ['i;unicode-casemap', 'i;ascii-casemap', 'i;octet'];

function toTextMatch({ name, attributes, text }: XmlElement): TextMatch | null {
  const type = attributes['match-type'] ?? 'contains';
  const collation = attributes.collation ?? 'i;unicode-casemap';
  if (name !== 'text-match' || !MATCH_TYPES.includes(type) || !COLLATIONS.includes(collation)) return null;
  const isNegated = attributes['negate-condition'] === 'yes';
  return { text, type: type as MatchType, isNegated, isExact: collation === 'i;octet' };
}
