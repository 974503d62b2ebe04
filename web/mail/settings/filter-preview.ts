/** Converts the conditions of a filter to a search, for the preview. Pure. */
import type { Condition } from '../model/settings-api.ts';

const quoted = (value: string): string => `"${value.replaceAll('"', ' ').trim()}"`;

/** Converts one condition to a search term. @returns null if search has no operator for it (other header fields). */
function toSearch(condition: Condition): string | null {
  const sign = condition.negate ? '-' : '';
  switch (condition.field) {
    case 'from':
    case 'to':
    case 'subject':
      return condition.value.trim() ? `${sign}${condition.field}:${quoted(condition.value)}` : null;
    case 'body':
      return condition.value.trim() ? `${sign}${quoted(condition.value)}` : null;
    case 'size':
      return `${sign}${condition.operator}:${condition.bytes}`;
    case 'has_attachment':
      return `${sign}has:attachment`;
    case 'header':
      return null;
  }
}

export function toSearchQuery(conditions: readonly Condition[], match: 'all' | 'any'): string {
  const words = conditions.flatMap((condition) => toSearch(condition) ?? []);
  return words.join(match === 'any' ? ' OR ' : ' ');
}
