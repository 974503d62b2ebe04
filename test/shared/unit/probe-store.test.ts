import { expect, it } from 'vitest';
import { entries } from '../../../migrations/objects/meta/_journal.json';
import { judgeDatabase } from '../../../workers/shared/stores/probe-store.ts';

const migrations = entries.map(({ tag }) => `${tag}.sql`);

it('warns of a database that is more than 70% full', () => {
  expect(judgeDatabase('OBJECTS_3', { migrations, sizeBytes: 7_000_000_000 })).toEqual([]);
  expect(judgeDatabase('OBJECTS_3', { migrations, sizeBytes: 7_250_000_000 })).toEqual([
    { isSick: false, message: 'is 72% full: see "A database is getting full" in docs/operations.md' },
  ]);
});
