import { expect, it } from 'vitest';
import { addTo, decideRestore, emptyReport, note } from '../../../workers/storage/domain/jobs.ts';

const same = { isSame: true };
const other = { isSame: false };

it.each([
  ['an object that did not exist then', { isMarker: false, earlier: null }, 'delete'],
  ['a name that was deleted then and is now', { isMarker: true, earlier: null }, 'nothing'],
  ['an object that is as it was', { isMarker: false, earlier: same }, 'nothing'],
  ['an object with other content', { isMarker: false, earlier: other }, 'copy'],
  ['an object that was deleted since', { isMarker: true, earlier: other }, 'copy'],
  ['a marker above the same version', { isMarker: true, earlier: same }, 'copy'],
] as const)('a restore of %s', (_, name, decision) => {
  expect(decideRestore({ ...name, modifiedAt: 99 }, 100)).toBe(decision);
  expect(decideRestore({ ...name, modifiedAt: 100 }, 100)).toBe(decision);
  // A change that was made after the job began must be kept.
  expect(decideRestore({ ...name, modifiedAt: 101 }, 100)).toBe(decision === 'nothing' ? 'nothing' : 'changed');
});

it('a report adds up its counts, and lists the first 20 obstacles', () => {
  const report = emptyReport();
  addTo(report, 'examined');
  addTo(report, 'examined');
  addTo(report, 'bytes', 5);
  addTo(report, 'bytes', 7);
  expect(report.counts).toEqual({ examined: 2, bytes: 12 });
  const names: number[] = [];
  for (let at = 0; at < 30; at += 1) note(names, at);
  expect(names).toEqual(Array.from({ length: 20 }, (_, at) => at));
});
