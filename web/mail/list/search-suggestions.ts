/** Suggestions for the search box: operators, and values for operators that have few. Pure. */

import { mailTexts } from '../../shared/texts/mail.ts';
import type { Folder, Summary } from '../model/api.ts';

export interface Suggestion {
  text: string;
  meaning: string;
}

const operators = () => Object.entries(mailTexts.operators);

const VALUES_MAX = 8;
/** Number of newest messages whose labels are suggested. */
const MESSAGES_MAX = 1_000;

const quoted = (value: string): string => (/\s/.test(value) ? `"${value}"` : value);

/** Returns the last word of the search, which is still being typed. Inside quotation marks it includes spaces. */
function lastWord(text: string): string {
  const isQuoted = (text.match(/"/g) ?? []).length % 2 === 1;
  if (!isQuoted) return text.slice(text.lastIndexOf(' ') + 1);
  const opening = text.lastIndexOf('"');
  return text.slice(text.lastIndexOf(' ', opening) + 1);
}

function valuesOf(operator: string, folders: readonly Folder[], messages: readonly Summary[]): string[] {
  if (operator === 'in') return folders.map((folder) => folder.role ?? folder.name);
  if (operator === 'label') return [...new Set(messages.slice(0, MESSAGES_MAX).flatMap((message) => message.labels))];
  return [];
}

/** Lists suggestions for the last word of a search. @param messages the loaded messages, whose labels are suggested. */
export function suggestSearch(text: string, folders: readonly Folder[], messages: readonly Summary[]): Suggestion[] {
  const typed = lastWord(text);
  const sign = typed.length > 1 && typed.startsWith('-') ? '-' : '';
  const word = typed.slice(sign.length).toLowerCase();
  const value = /^(in|label):"?([^"]*)$/.exec(word);
  if (value) {
    return valuesOf(value[1] ?? '', folders, messages)
      .filter((one) => one.toLowerCase().startsWith(value[2] ?? '') && one.toLowerCase() !== value[2])
      .slice(0, VALUES_MAX)
      .map((one) => ({ text: `${sign}${value[1]}:${quoted(one)}`, meaning: '' }));
  }
  return operators()
    .filter(([operator]) => operator.toLowerCase().startsWith(word) && operator !== word)
    .filter(([operator]) => sign === '' || operator.includes(':'))
    .map(([operator, meaning]) => ({ text: `${sign}${operator}`, meaning }));
}

/** Accepts a suggestion. @returns the search with its last word replaced by the suggestion. */
export const applySuggestion = (text: string, suggestion: string): string =>
  text.slice(0, text.length - lastWord(text).length) + suggestion.replace('…', '');
