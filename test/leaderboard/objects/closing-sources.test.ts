/** The end of a season whose sources are not whole: fewer players than were seen, or none. */
import { env } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import { isComplete } from '../../../durable-objects/leaderboard/season/closing-checks.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';

/** Each case has a month of its own. */
let months = 0;

it.each([
  // Seen, left, whether the season may be archived.
  [5, 5, true],
  [5, 4, true],
  [5, 0, false],
  [1, 0, false],
  [0, 0, true],
  [2_000, 1_990, true],
  [2_000, 1_900, false],
  [2_000, 0, false],
])('of %i players that were seen, %i are left: may be archived is %s', async (seen, left, isAllowed) => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const now = Date.parse('2046-06-01T00:00:00Z');
  const season = `2046-${String(++months).padStart(2, '0')}`;
  const store = createSeasonStore(env.DIRECTORY);
  await store.ensure(season, 1, now);
  await env.DIRECTORY.prepare('UPDATE season SET players_seen = ?1 WHERE season = ?2').bind(seen, season).run();
  expect(await isComplete(env, season, left, now)).toBe(isAllowed);
});
