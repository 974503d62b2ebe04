/** Leaderboards of each operator, sort and period, for tests against a model. `default` is the default board. */
import { randomUUID } from 'node:crypto';
import type { TestServer } from '../server.ts';

export interface BoardKind {
  readonly sort: 'desc' | 'asc';
  readonly operator: 'sum' | 'best' | 'last';
  readonly period: 'month' | 'week' | 'day' | 'none';
}

export interface TestBoard extends BoardKind {
  /** Path before `/scores`: `/v1`, or `/v1/boards/{board}` for a named board. */
  readonly base: string;
}

export const DEFAULT: TestBoard = { base: '/v1', sort: 'desc', operator: 'sum', period: 'month' };
export const NAMED: readonly BoardKind[] = [
  { sort: 'asc', operator: 'best', period: 'week' },
  { sort: 'desc', operator: 'sum', period: 'day' },
  { sort: 'desc', operator: 'last', period: 'none' },
];

/** Clock offset for a server at which no period of a board ends in the next hours. */
export const midPeriod = (): { CLOCK_OFFSET_SECONDS: string } => ({
  CLOCK_OFFSET_SECONDS: String(Math.round((Date.parse('2043-06-17T12:00:00Z') - Date.now()) / 1000)),
});

/** @param shards number of shards of its seasons */
export async function createBoard(server: TestServer, kind: BoardKind, shards = 32): Promise<TestBoard> {
  const base = `/v1/boards/b-${randomUUID().slice(0, 8)}`;
  const { status, body } = await server.call('PUT', base, { title: 'A board', public: true, shards, ...kind });
  if (status !== 200) throw new Error(`${base}: ${JSON.stringify(body)}`);
  return { base, ...kind };
}

/** Computes the score after a post. @param before the previous score; null for a new player. */
export function scoreAfter({ sort, operator }: BoardKind, before: number | null, points: number): number {
  if (before === null || operator === 'last') return points;
  if (operator === 'sum') return before + points;
  return sort === 'asc' ? Math.min(before, points) : Math.max(before, points);
}

/** Computes the rank of a score in standard competition ranking. */
export const rankOf = ({ sort }: BoardKind, score: number, all: Iterable<number>): number =>
  1 + [...all].filter((other) => (sort === 'asc' ? other < score : other > score)).length;
