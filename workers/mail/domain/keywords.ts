/**
 * Keywords of messages (RFC 8621 §4.1.1). Five keywords stand for flags of the mailbox, the others for labels. A label that is not
 * a valid keyword, for example because it has a space, becomes `label-` and the hexadecimal digits of its UTF-8. Pure.
 */

import type { Flags, MessageFlag } from './message-flags.ts';

export interface Marks extends Flags {
  readonly isDraft: boolean;
  readonly labels: readonly string[];
}

/** Flags of the mailbox, by their keyword. */
export const FLAG_KEYWORDS = {
  $seen: 'isRead',
  $flagged: 'isFlagged',
  $answered: 'isAnswered',
  $forwarded: 'isForwarded',
} as const satisfies Readonly<Record<string, MessageFlag>>;
export const DRAFT_KEYWORD = '$draft';
const ENCODED = /^label-((?:[0-9a-f]{2})+)$/;
const LABEL_LENGTH_MAX = 100;

export function toKeywords(marks: Marks): Record<string, true> {
  const flags = Object.entries(FLAG_KEYWORDS).flatMap(([keyword, flag]) => (marks[flag] ? [keyword] : []));
  const draft = marks.isDraft ? [DRAFT_KEYWORD] : [];
  return Object.fromEntries([...flags, ...draft, ...marks.labels.map(toKeyword)].map((keyword) => [keyword, true]));
}

const toKeyword = (label: string): string =>
  isKeyword(label) && label === label.toLowerCase() && !ENCODED.test(label)
    ? label
    : `label-${Buffer.from(label).toString('hex')}`;

/** Whether a keyword has only the characters of an IMAP flag (RFC 8621 §4.1.1). */
export const isKeyword = (keyword: string): boolean => /^[!#$&'+-[\]^-z|}~]{1,255}$/.test(keyword);

/** @returns the label of a keyword that is not a flag; null if the keyword is invalid or too long. */
export function toLabel(keyword: string): string | null {
  const lower = keyword.toLowerCase();
  const hex = ENCODED.exec(lower)?.[1];
  const label = hex === undefined ? lower : Buffer.from(hex, 'hex').toString('utf8');
  return isKeyword(keyword) && label.length <= LABEL_LENGTH_MAX ? label : null;
}

export interface MarksResult {
  readonly marks: Marks;
  /** Keywords that cannot be stored because they are invalid or too long. */
  readonly bad: readonly string[];
}

/** @returns the flags and labels for a complete set of keywords. */
export function toMarks(keywords: readonly string[]): MarksResult {
  const set = new Set(keywords.map((keyword) => keyword.toLowerCase()));
  const flags: readonly string[] = Object.keys(FLAG_KEYWORDS);
  const others = keywords.filter((keyword) => !flags.includes(keyword.toLowerCase()));
  const labels = others.map(toLabel);
  return {
    marks: {
      isDraft: set.has(DRAFT_KEYWORD),
      ...(Object.fromEntries(
        Object.entries(FLAG_KEYWORDS).map(([keyword, flag]) => [flag, set.has(keyword)]),
      ) as Flags),
      labels: labels.filter((label) => label !== null),
    },
    bad: others.filter((_, at) => labels[at] === null),
  };
}
