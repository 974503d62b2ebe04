import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { keepRow, recentRow } from '../../../workers/shared/stores/replica.ts';

let database: D1Database;

beforeEach(() => {
  vi.useFakeTimers();
  database = {} as D1Database;
});
afterEach(() => {
  vi.useRealTimers();
});

const row = (generation: number) => ({ generation });

it('returns a row for five seconds, and only to users of the same database', () => {
  expect(recentRow(database, 'key')).toBeNull();
  keepRow(database, 'key', row(3), 'replica');
  vi.advanceTimersByTime(4_999);
  expect(recentRow(database, 'key')).toEqual(row(3));
  expect(recentRow({} as D1Database, 'key')).toBeNull();
  vi.advanceTimersByTime(1);
  expect(recentRow(database, 'key')).toBeNull();
});

it('keeps the later row, whichever copy answered last', () => {
  keepRow(database, 'key', row(3), 'primary');
  keepRow(database, 'key', row(2), 'replica');
  expect(recentRow(database, 'key')).toEqual(row(3));
  keepRow(database, 'key', row(4), 'replica');
  expect(recentRow(database, 'key')).toEqual(row(4));
});

it('forgets a row that the primary does not have, and not one that a replica does not have', () => {
  keepRow(database, 'key', row(3), 'primary');
  keepRow(database, 'key', null, 'replica');
  expect(recentRow(database, 'key')).toEqual(row(3));
  keepRow(database, 'key', null, 'primary');
  expect(recentRow(database, 'key')).toBeNull();
});

it('takes a row of the primary with a lower generation, because it is of a successor with the same name', () => {
  keepRow(database, 'key', row(3), 'primary');
  keepRow(database, 'key', row(0), 'primary');
  expect(recentRow(database, 'key')).toEqual(row(0));
});

it('keeps the 200 rows that were read last', () => {
  for (let at = 0; at < 200; at++) keepRow(database, `key ${at}`, row(0), 'replica');
  keepRow(database, 'key 0', row(0), 'replica');
  keepRow(database, 'another', row(0), 'replica');
  expect(recentRow(database, 'key 0')).not.toBeNull();
  expect(recentRow(database, 'key 1')).toBeNull();
  expect(recentRow(database, 'key 2')).not.toBeNull();
});
