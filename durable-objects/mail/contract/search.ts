/** Search, and changes to all messages that a search finds. */
import type { BatchResult, MessageSummary } from './messages.ts';

export interface SearchPage {
  /** Messages at this position or later arrived after the first page was read. They are skipped. */
  readonly top: number;
  /** Number of ranked hits that were returned; null once all were. */
  readonly offset: number | null;
  /** Position before which the hits continue, newest first (exclusive). */
  readonly before: number;
}

export interface SearchAnswer {
  readonly hits: readonly { readonly message: MessageSummary; readonly snippet: string }[];
  readonly next: SearchPage | null;
}

export interface SearchRequest {
  readonly query: string;
  readonly sort: 'relevance' | 'newest';
  readonly page: SearchPage | null;
  readonly limit: number;
}

export type CompileError = { readonly kind: 'bad_request'; readonly path: string; readonly message: string };

/**
 * The place at which the next round continues. Messages at position `top` or later arrived after the first round. The next round changes
 * messages before position `before`.
 */
export interface BatchPlace {
  readonly top: number;
  readonly before: number;
}

export interface BatchRound {
  readonly results: readonly BatchResult[];
  /** The place at which the next round continues; null after the last round. */
  readonly next: BatchPlace | null;
  /** Progress from 0 to 1: the part of the time since the oldest message that is done. */
  readonly progress: number;
}
