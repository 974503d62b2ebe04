/** A JMAP query for messages (RFC 8621 §4.4), in the form that the mailbox compiles to SQL. */

export type KeywordTest =
  | { readonly kind: 'flag'; readonly flag: 'isRead' | 'isFlagged' | 'isAnswered' | 'isForwarded' | 'isDraft' }
  | { readonly kind: 'label'; readonly label: string };

export type TextPlace = 'any' | 'from' | 'to' | 'cc' | 'bcc' | 'subject' | 'body';

export type EmailFilter =
  | { readonly kind: 'and' | 'or'; readonly of: readonly EmailFilter[] }
  /** Matches if no filter in `of` matches. */
  | { readonly kind: 'none'; readonly of: readonly EmailFilter[] }
  | { readonly kind: 'in'; readonly folderId: string }
  | { readonly kind: 'in_other_than'; readonly folderIds: readonly string[] }
  /** Matches by time of arrival. `time` is in milliseconds since 1970 UTC. */
  | { readonly kind: 'before' | 'after'; readonly time: number }
  | { readonly kind: 'min_size' | 'max_size'; readonly bytes: number }
  | { readonly kind: 'keyword'; readonly test: KeywordTest; readonly scope: 'message' | 'all' | 'some' | 'none' }
  | { readonly kind: 'has_attachment'; readonly value: boolean }
  | { readonly kind: 'text'; readonly place: TextPlace; readonly text: string }
  | { readonly kind: 'header'; readonly name: string; readonly text: string | null };

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

/** Splits a text filter into words and quoted phrases (RFC 8621 §4.4.1). */
export function splitPhrases(text: string): string[] {
  const found = text.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/g);
  return [...found].map(([, double, single, word]) => (double ?? single ?? word ?? '').replace(/\\(.)/g, '$1'));
}
