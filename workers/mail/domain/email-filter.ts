/**
 * The tree of a search for messages, which the mailbox compiles to SQL. Both front ends make it: `q=` of the JSON API
 * (`durable-objects/mail/domain/search-query.ts`) and `Email/query` of JMAP (RFC 8621 §4.4). Pure.
 */

import type { MessageFlag } from './message-flags.ts';

export type KeywordTest =
  | { readonly kind: 'flag'; readonly flag: MessageFlag | 'isDraft' }
  | { readonly kind: 'label'; readonly label: string };

export type TextPlace = 'any' | 'from' | 'to' | 'cc' | 'bcc' | 'subject' | 'body' | 'files';

/**
 * `word` matches words with this beginning, if it has three characters, and the singular or plural. `prefix` matches words with this
 * beginning of any length, `phrase` only the text itself.
 */
export type TextMatch = 'word' | 'prefix' | 'phrase';

export type EmailFilter =
  | { readonly kind: 'and' | 'or'; readonly of: readonly EmailFilter[] }
  /** Matches if no filter in `of` matches. */
  | { readonly kind: 'none'; readonly of: readonly EmailFilter[] }
  /** Matches if the message is in the folder. The views All and Flagged have no messages of their own. */
  | { readonly kind: 'in'; readonly folderId: string }
  | { readonly kind: 'in_other_than'; readonly folderIds: readonly string[] }
  /** Matches if the message is in a folder other than Junk and Trash. */
  | { readonly kind: 'visible' }
  | { readonly kind: 'snoozed' }
  /** Matches if the message is in a muted thread. */
  | { readonly kind: 'muted' }
  | { readonly kind: 'thread'; readonly threadId: string }
  /** By time of arrival: `before` excludes the time itself, `after` includes it. Milliseconds since 1970 UTC. */
  | { readonly kind: 'before' | 'after'; readonly time: number }
  /** `min_size` includes the size itself, `max_size` excludes it. */
  | { readonly kind: 'min_size' | 'max_size'; readonly bytes: number }
  | { readonly kind: 'keyword'; readonly test: KeywordTest; readonly scope: 'message' | 'all' | 'some' | 'none' }
  | { readonly kind: 'has_attachment'; readonly value: boolean }
  /** Matches one word or phrase. The text has at least one letter or digit. */
  | { readonly kind: 'text'; readonly place: TextPlace; readonly text: string; readonly match: TextMatch }
  /** Matches a header field whose value contains the text; null matches any value. Compares without regard to case, in ASCII. */
  | { readonly kind: 'header'; readonly name: string; readonly text: string | null };

export type TextFilter = Extract<EmailFilter, { kind: 'text' }>;

export const EVERY_MESSAGE: EmailFilter = { kind: 'and', of: [] };
export const NO_MESSAGE: EmailFilter = { kind: 'or', of: [] };
export const VISIBLE: EmailFilter = { kind: 'visible' };

export const not = (filter: EmailFilter): EmailFilter => ({ kind: 'none', of: [filter] });

/** Lists the texts that a filter searches for in one of the places. Texts under a negation are not among them. */
export function listTexts(filter: EmailFilter | null, places: readonly TextPlace[]): TextFilter[] {
  if (filter?.kind === 'and' || filter?.kind === 'or') return filter.of.flatMap((part) => listTexts(part, places));
  return filter?.kind === 'text' && places.includes(filter.place) ? [filter] : [];
}

export interface EmailSort {
  readonly by: 'receivedAt' | 'sentAt' | 'size' | 'from' | 'to' | 'subject' | 'keyword';
  readonly isAscending: boolean;
  /** Test of the keyword to sort by, if `by` is `keyword`. False sorts before true. */
  readonly keyword?: { readonly test: KeywordTest; readonly scope: 'message' | 'all' | 'some' };
}

export interface EmailQuery {
  readonly filter: EmailFilter | null;
  /** Sort order. If it is empty, the newest message is first. */
  readonly sort: readonly EmailSort[];
  readonly collapseThreads: boolean;
}
