/** Filters and forwarding. */
import type { FilterRule } from '../../../workers/mail/domain/filter-rule.ts';

export interface Filter extends FilterRule {
  readonly filterId: string;
}

export type FilterError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number }
  | { readonly kind: 'bad_request'; readonly path: string; readonly message: string };

export interface ApplyRound {
  readonly looked: number;
  readonly changed: number;
  /** Position before which to continue; null once all messages were checked. */
  readonly before: number | null;
}

export interface AddressForward {
  readonly email: string;
  readonly targets: readonly string[];
  readonly keepsCopy: boolean;
}

export type AddressForwardError = { readonly kind: 'bad_request'; readonly path: string; readonly message: string };

export interface ForwardTarget {
  readonly email: string;
  readonly confirmedAt: number | null;
}

export type ForwardTargetError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'conflict'; readonly detail: string }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };
