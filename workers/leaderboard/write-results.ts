/** What a write of scores takes and gives. */

import type { ScoreError, ScoreOutcome, ScoreUpdate } from '../../durable-objects/leaderboard/protocol.ts';
import type { Result } from '../shared/pure/result.ts';
import type { SeasonError } from './seasons/seasons.ts';

/** @member season label of the season; undefined for the current one */
export type SeasonUpdate = ScoreUpdate & { readonly season: string | undefined };

export type WriteError =
  | ScoreError
  | SeasonError
  | { readonly kind: 'no_such_score' | 'no_season' }
  | { readonly kind: 'board_limit_reached'; readonly boardsMax: number }
  | { readonly kind: 'too_many_points'; readonly pointsMax: number }
  | { readonly kind: 'too_much_data'; readonly bytesMax: number | null };

export interface WrittenScore extends ScoreOutcome {
  readonly userId: string;
  /** Label of the season's period. */
  readonly season: string;
  readonly asOf: number;
  readonly writtenAt: number;
}

export type WriteResult = Result<WrittenScore, WriteError>;
