/**
 * Runs the objects of the last release under the Worker of this tree, over every route but deletions, and background work of mail. The
 * long form, `versions.long.test.ts`, compares both directions with deployments of one version.
 */
import { expect, it } from 'vitest';
import { findFailures, walkVersions } from '../../support/versions/walk.ts';

it('no route fails while the objects run the code of the last release', async () => {
  const walked = await walkVersions({ worker: 'this', objects: 'last' }, (name) => !name.startsWith('DELETE'));
  expect(walked.answers.size).toBeGreaterThan(150);
  expect(findFailures(walked)).toEqual([]);
});
