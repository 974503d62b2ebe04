/** The end of a season whose sources are not whole: fewer players than were seen, or none. */
import { env } from 'cloudflare:test';
import { expect, it, vi } from 'vitest';
import { EVENT_RETENTION_MS } from '../../../durable-objects/leaderboard/protocol.ts';
import { isComplete } from '../../../durable-objects/leaderboard/season/closing-checks.ts';
import { seasonStub } from '../../../workers/leaderboard/objects.ts';
import { manifestKey } from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { archiveAsFormerly } from './former-season.ts';

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

it('erases no objects of a season that 0.2.0 archived while a location lacks the manifest', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2047-06-20T00:00:00Z') });
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = '1';
  const season = '2047-06';
  await writeScores(env, [{ userId: 'ada', points: 3, userName: null, eventId: null, season: undefined }]);
  vi.setSystemTime(Date.parse('2047-07-01T00:01:00Z'));
  const key = manifestKey(await archiveAsFormerly(season, 1));
  const manifest = await (await env.BLOBS_2.get(key))?.text();
  await env.BLOBS_2.delete(key);
  vi.setSystemTime(Date.now() + EVENT_RETENTION_MS);
  const close = () => seasonStub(env, season).close({ season, shards: 1 });
  const find = () => createSeasonStore(env.DIRECTORY).find(season);
  await close();
  expect((await find())?.erasedAt).toBeNull();
  const sha256 = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(manifest));
  await env.BLOBS_2.put(key, manifest ?? '', { sha256 });
  await close();
  expect((await find())?.erasedAt).toBe(Date.now());
  vi.useRealTimers();
});
