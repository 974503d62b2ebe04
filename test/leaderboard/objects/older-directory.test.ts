/** Tests that a season object writes nothing into DIRECTORY while DIRECTORY is in an earlier state, and continues after a replay. */
import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { seasonStub } from '../../../workers/leaderboard/objects.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { findMisconfigured } from '../../../workers/shared/settings/settings.ts';

const SEASON = '2043-01';

const setAge = (number: number) =>
  env.DIRECTORY.prepare('INSERT OR REPLACE INTO age(one, number) VALUES (1, ?)').bind(number).run();
const setOutside = (number: number) =>
  Promise.all([env.BLOBS, env.BLOBS_2].map((bucket) => bucket.put('ages/directory', JSON.stringify({ number }))));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => vi.useRealTimers());

it('does not end a season in a DIRECTORY that was put back', async () => {
  vi.setSystemTime(Date.parse(`${SEASON}-20T12:00:00Z`));
  const win = { userId: 'ada', points: 3, userName: null, eventId: 'e1', season: undefined };
  for (const result of await writeScores(env, [win])) expect(result.ok).toBe(true);
  const store = createSeasonStore(env.DIRECTORY);
  const row = await store.find(SEASON);
  if (!row) throw new Error('the season has no row');

  vi.setSystemTime(Date.parse('2043-02-01T00:01:00Z'));
  await setAge(7);
  await setOutside(9);
  const close = () =>
    runInDurableObject(seasonStub(env, SEASON), (season: LeaderboardSeason) =>
      season.close(row).then(
        ({ finalAt }) => finalAt,
        (error: unknown) => findMisconfigured(error)?.problem.name,
      ),
    );
  expect(await close()).toBe('DIRECTORY');
  expect(await store.find(SEASON)).toEqual(row);

  await setAge(10);
  vi.setSystemTime(Date.parse('2043-02-01T00:01:11Z'));
  expect(await close()).toBe(Date.now());
  expect(await store.find(SEASON)).toMatchObject({ closedAt: Date.now(), players: 1 });
});
