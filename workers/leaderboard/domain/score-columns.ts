/**
 * Updates, results and top lists between the Worker and the objects, as one column per member. Serializing an object
 * per update costs more than counting the score.
 */
import { err, ok } from '../../shared/result.ts';
import type { ScoreError, ScoreResult, ScoreUpdate } from './board.ts';
import type { TopEntry } from './standing.ts';

export interface UpdateColumns {
  readonly userIds: readonly string[];
  readonly points: readonly number[];
  /** Null when no update has one. */
  readonly userNames: readonly (string | null)[] | null;
  readonly eventIds: readonly (string | null)[] | null;
}

export interface ResultColumns {
  /** Null where the name is the `user_id`. */
  readonly userNames: readonly (string | null)[];
  readonly scores: readonly number[];
  readonly ranks: readonly number[];
  /** Positions of repeated events. */
  readonly duplicates: readonly number[];
  readonly errors: readonly { readonly place: number; readonly error: ScoreError }[];
}

export function toUpdateColumns(updates: readonly ScoreUpdate[]): UpdateColumns {
  return {
    userIds: updates.map(({ userId }) => userId),
    points: updates.map(({ points }) => points),
    userNames: updates.some(({ userName }) => userName !== null) ? updates.map(({ userName }) => userName) : null,
    eventIds: updates.some(({ eventId }) => eventId !== null) ? updates.map(({ eventId }) => eventId) : null,
  };
}

export const fromUpdateColumns = ({ userIds, points, userNames, eventIds }: UpdateColumns): ScoreUpdate[] =>
  userIds.map((userId, i) => ({
    userId,
    points: points[i] as number,
    userName: userNames?.[i] ?? null,
    eventId: eventIds?.[i] ?? null,
  }));

/** @param updates in the order of the results. */
export function toResultColumns(updates: readonly ScoreUpdate[], results: readonly ScoreResult[]): ResultColumns {
  const userNames: (string | null)[] = [];
  const scores: number[] = [];
  const ranks: number[] = [];
  const duplicates: number[] = [];
  const errors: { place: number; error: ScoreError }[] = [];
  for (const [place, result] of results.entries()) {
    if (!result.ok) errors.push({ place, error: result.error });
    const outcome = result.ok ? result.value : null;
    userNames.push(outcome === null || outcome.userName === updates[place]?.userId ? null : outcome.userName);
    scores.push(outcome?.score ?? 0);
    ranks.push(outcome?.rank ?? 0);
    if (outcome?.isDuplicate) duplicates.push(place);
  }
  return { userNames, scores, ranks, duplicates, errors };
}

export function fromResultColumns(updates: readonly ScoreUpdate[], columns: ResultColumns): ScoreResult[] {
  const { userNames, scores, ranks } = columns;
  const duplicates = new Set(columns.duplicates);
  const errors = new Map(columns.errors.map(({ place, error }) => [place, error]));
  return updates.map(({ userId }, i) => {
    const error = errors.get(i);
    if (error !== undefined) return err(error);
    const [score, rank] = [scores[i] as number, ranks[i] as number];
    return ok({ userName: userNames[i] ?? userId, score, rank, isDuplicate: duplicates.has(i) });
  });
}

export interface TopColumns {
  readonly userIds: readonly string[];
  /** Null where the name is the `user_id`. */
  readonly userNames: readonly (string | null)[];
  readonly scores: readonly number[];
  readonly reached: readonly number[];
}

export const toTopColumns = (entries: readonly TopEntry[]): TopColumns => ({
  userIds: entries.map(({ userId }) => userId),
  userNames: entries.map(({ userId, userName }) => (userName === userId ? null : userName)),
  scores: entries.map(({ score }) => score),
  reached: entries.map(({ reached }) => reached),
});

export const fromTopColumns = ({ userIds, userNames, scores, reached }: TopColumns): TopEntry[] =>
  userIds.map((userId, i) => ({
    userId,
    userName: userNames[i] ?? userId,
    score: scores[i] as number,
    reached: reached[i] as number,
  }));
