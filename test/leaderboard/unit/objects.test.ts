import { expect, it, vi } from 'vitest';
import {
  regionOf,
  seasonStub,
  shardStub,
  UnavailableError,
  viewStub,
  within,
} from '../../../workers/leaderboard/objects.ts';

const namespace = () => ({
  idFromName: (name: string) => name,
  get: vi.fn((id: string, options: object) => [id, options]),
});
const open = (location: string) => {
  const env = {
    LEADERBOARD_LOCATION: location,
    LEADERBOARD_SHARD: namespace(),
    LEADERBOARD_SEASON: namespace(),
    LEADERBOARD_VIEW: namespace(),
  };
  return env as unknown as Env;
};

it('every object of a season gets the location of the setting', () => {
  const address = { season: '2026-11', shard: 7, shards: 32 };
  expect(shardStub(open('weur'), address)).toEqual(['2026-11:7', { locationHint: 'weur' }]);
  expect(seasonStub(open('weur'), '2026-11')).toEqual(['2026-11', { locationHint: 'weur' }]);
  expect(shardStub(open(''), address)).toEqual(['2026-11:7', {}]);
});

it('a view is near its readers, whatever the setting', () => {
  expect(viewStub(open('weur'), '2026-11', 'apac:3')).toEqual(['2026-11:apac:3', { locationHint: 'apac' }]);
  expect(['EU', 'OC', 'NA', 'AN', undefined].map(regionOf)).toEqual(['weur', 'oc', 'enam', 'enam', 'enam']);
});

it('a call that fails or takes too long is unavailable, with its cause', async () => {
  await expect(within('2026-11:7', 1_000, Promise.resolve(5))).resolves.toBe(5);
  const failure = await within('2026-11:7', 1_000, Promise.reject(new Error('gone'))).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(UnavailableError);
  expect(failure).toMatchObject({ message: '2026-11:7 does not answer', cause: { cause: { message: 'gone' } } });
  await expect(within('2026-11:7', 1, new Promise(() => {}))).rejects.toBeInstanceOf(UnavailableError);
});
