import { expect, it } from 'vitest';
import { entries as ofDirectory } from '../../../migrations/directory/meta/_journal.json';
import { entries } from '../../../migrations/objects/meta/_journal.json';
import { judgeDatabase } from '../../../workers/shared/stores/probe-store.ts';

const migrations = entries.map(({ tag }) => `${tag}.sql`);

it('warns of a database that is more than 70% full', () => {
  expect(judgeDatabase('OBJECTS_3', { migrations, sizeBytes: 7_000_000_000 })).toEqual([]);
  expect(judgeDatabase('OBJECTS_3', { migrations, sizeBytes: 7_250_000_000 })).toEqual([
    { isSick: false, message: 'is 72% full: see "A database is getting full" in docs/operations.md' },
  ]);
});

it.each(['DIRECTORY', 'DIRECTORY_1', 'DIRECTORY_20'])('expects the tables of DIRECTORY in %s', (name) => {
  const state = { migrations: ofDirectory.map(({ tag }) => `${tag}.sql`), sizeBytes: 1 };
  expect(judgeDatabase(name, state)).toEqual([]);
  expect(judgeDatabase(name, { ...state, migrations })).toMatchObject([{ isSick: true }]);
});
