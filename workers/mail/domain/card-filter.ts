/** Filters of `addressbook-query` (RFC 6352 §10.5): which cards a client asks for. Pure. */
import { type CardLine, readLines, unescapeText } from './vcard.ts';

export type MatchType = 'equals' | 'contains' | 'starts-with' | 'ends-with';

export interface TextMatch {
  readonly text: string;
  readonly type: MatchType;
  readonly isNegated: boolean;
  readonly isExact: boolean;
}

/** Tests of a parameter or a property. No match means: it is there. */
export interface ParameterFilter {
  readonly name: string;
  readonly isAbsent: boolean;
  readonly match: TextMatch | null;
}

export interface PropertyFilter {
  readonly name: string;
  readonly isAbsent: boolean;
  readonly isAll: boolean;
  readonly matches: readonly TextMatch[];
  readonly parameters: readonly ParameterFilter[];
}

export interface CardFilter {
  readonly isAll: boolean;
  readonly properties: readonly PropertyFilter[];
}

/** Whether a card meets a filter. A filter without conditions is met by every card. */
export function meetsFilter(vcard: string, { isAll, properties }: CardFilter): boolean {
  if (properties.length === 0) return true;
  const lines = readLines(vcard);
  const meets = (filter: PropertyFilter) =>
    meetsProperty(
      lines.filter(({ name, group }) => isNamed(filter.name, name, group)),
      filter,
    );
  return isAll ? properties.every(meets) : properties.some(meets);
}

/** A filter may name a property with its group (RFC 6352 §10.5.1). */
const isNamed = (wanted: string, name: string, group: string): boolean =>
  wanted.toUpperCase() === name || wanted.toUpperCase() === `${group}${name}`.toUpperCase();

function meetsProperty(lines: readonly CardLine[], filter: PropertyFilter): boolean {
  const { isAbsent, isAll, matches, parameters } = filter;
  if (isAbsent) return lines.length === 0;
  if (lines.length === 0) return false;
  const tests = [
    ...matches.map((match) => lines.some((line) => meetsText(unescapeText(line.value), match)) !== match.isNegated),
    ...parameters.map((parameter) => lines.some((line) => meetsParameter(line, parameter))),
  ];
  return tests.length === 0 || (isAll ? tests.every(Boolean) : tests.some(Boolean));
}

function meetsParameter({ parameters }: CardLine, { name, isAbsent, match }: ParameterFilter): boolean {
  const values = parameters.split(';').flatMap((parameter) => {
    const [key = '', value = ''] = parameter.split('=');
    return key.toUpperCase() === name.toUpperCase() ? value.replaceAll('"', '').split(',') : [];
  });
  if (isAbsent) return values.length === 0;
  if (match === null) return values.length > 0;
  return values.some((value) => meetsText(value, match)) !== match.isNegated;
}

/** Compares text; small and capital letters are the same unless the match is exact. */
function meetsText(text: string, { text: wanted, type, isExact }: TextMatch): boolean {
  const [value, part] = isExact ? [text, wanted] : [text.toLowerCase(), wanted.toLowerCase()];
  switch (type) {
    case 'equals':
      return value === part;
    case 'contains':
      return value.includes(part);
    case 'starts-with':
      return value.startsWith(part);
    case 'ends-with':
      return value.endsWith(part);
  }
}
