/**
 * Runs the objects of the last release under the Worker of this tree, and the reverse, over every route and background job. The platform
 * lets objects run old code for minutes after a deployment, and after a roll-back it is the other way round.
 */
import { expect, it } from 'vitest';
import { compareWalks, type Walked, walkVersions } from '../../support/versions/walk.ts';

/** Events of the routes that are new. Their answers are compared. */
const EXPECTED = new Set(['upgrade_pending', 'unavailable', 'leaderboard_erasure_waits']);

/** Events of errors that only the mixed deployment logged. */
const findNewErrors = (mixed: Walked, single: Walked): string[] =>
  [...mixed.errors.keys()].filter((event) => !single.errors.has(event) && !EXPECTED.has(event));

it('a Worker of this tree answers with objects of the last release as with its own', async () => {
  const single = await walkVersions({ worker: 'this', objects: 'this' });
  const mixed = await walkVersions({ worker: 'this', objects: 'last' });
  console.log(JSON.stringify({ calls: mixed.answers.size, errors: [...mixed.errors] }));
  expect(compareWalks(mixed, single)).toEqual([]);
  expect(findNewErrors(mixed, single)).toEqual([]);
});

it('a Worker of the last release answers with objects of this tree as with its own', async () => {
  const single = await walkVersions({ worker: 'last', objects: 'last' });
  const mixed = await walkVersions({ worker: 'last', objects: 'this' });
  console.log(JSON.stringify({ calls: mixed.answers.size, errors: [...mixed.errors] }));
  expect(compareWalks(mixed, single)).toEqual([]);
  expect(findNewErrors(mixed, single)).toEqual([]);
});

it('finds a seeded fault: a Worker that calls what its objects lack', async () => {
  const single = await walkVersions({ worker: 'this', objects: 'this' }, (name) => name === 'GET /v1/folders');
  const mixed = await walkVersions(
    { worker: 'this', objects: 'last', renamed: ['listOwnFolders', 'listOwnFoldersRenamed'] },
    (name) => name === 'GET /v1/folders',
  );
  expect(compareWalks(mixed, single).join()).toContain('GET /v1/folders: 200 -> 5');
});
