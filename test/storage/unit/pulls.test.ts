/** Plans of pulls: what is missing of a name, in which order, and what cannot be brought over. */
import { describe, expect, it } from 'vitest';
import { formatTimeuuid, toTicks } from '../../../workers/shared/pure/timeuuid.ts';
import { groupByName, type HeldVersion, planName, type SourceVersion } from '../../../workers/storage/domain/pulls.ts';

const STARTED = 1_000_000;
const version = (id: string, modifiedAt: number, more: Partial<SourceVersion> = {}): SourceVersion => ({
  key: 'k',
  id,
  isMarker: false,
  isLatest: false,
  size: 1,
  etag: `e-${id}-${modifiedAt}`,
  modifiedAt,
  ...more,
});
const idAt = (ms: number) => formatTimeuuid(toTicks(ms), new Uint8Array(8));
/** The version here that a pull made of a version of the source. */
const held = ({ id, etag, modifiedAt, isMarker }: SourceVersion, pulledAt = 1): HeldVersion => ({
  versionId: idAt(pulledAt),
  isMarker,
  size: 1,
  etag,
  pulled: { id, etag, at: modifiedAt },
});
const own: HeldVersion = { versionId: idAt(5), isMarker: false, size: 1, etag: 'e', pulled: null };

const [a, b, c] = [version('a', 1), version('b', 2, { isMarker: true, etag: '' }), version('c', 3)] as const;

describe('a plan of a name', () => {
  it('pulls all of a new name, the oldest first, and on no version', () => {
    const plan = planName([a, b, c], [], STARTED);
    expect(plan).toMatchObject({ missing: [a, b, c], tooLate: [], newest: null, isWrittenHere: false });
  });

  it('pulls what came since, on the newest version here', () => {
    const plan = planName([a, b, c], [held(a), held(b, 2)], STARTED);
    expect(plan).toMatchObject({ missing: [c], unchanged: 2, newest: idAt(2) });
    expect(planName([a, b, c], [held(a), held(b), held(c)], STARTED)).toMatchObject({ missing: [], unchanged: 3 });
  });

  it('counts only versions of earlier jobs as unchanged', () => {
    expect(planName([a, b], [held(a, 1), held(b, STARTED + 1)], STARTED).unchanged).toBe(1);
  });

  it('does not write an earlier version on top of a later one', () => {
    expect(planName([a, b, c], [held(a), held(c)], STARTED)).toMatchObject({ missing: [], tooLate: [b] });
  });

  it('goes on by time if the source removed the last version that was pulled', () => {
    expect(planName([a, c], [held(a), held(b)], STARTED)).toMatchObject({ missing: [c], goneAtSource: 1 });
  });

  it('takes an object without an id as new if its ETag or time changed, and as replaced, not gone', () => {
    const [first, second] = [version('null', 1), version('null', 2)];
    expect(planName([first], [held(first)], STARTED)).toMatchObject({ missing: [], unchanged: 1 });
    expect(planName([second], [held(first)], STARTED)).toMatchObject({ missing: [second], goneAtSource: 0 });
  });

  it('writes nothing on top of a version that was written here, unless it has the same bytes', () => {
    expect(planName([a, c], [held(a), own], STARTED)).toMatchObject({ missing: [], isWrittenHere: true });
    const same = version('null', 9, { etag: 'e' });
    expect(planName([same], [own], STARTED)).toMatchObject({ missing: [], isWrittenHere: false, unchanged: 1 });
  });
});

it('sorts versions of a name from the oldest to the newest, also if delete markers are listed after all versions', () => {
  const [one, two, three] = [
    version('1', 1),
    version('2', 2, { isMarker: true }),
    version('3', 2, { isLatest: true }),
  ] as const;
  const other = version('9', 1, { key: 'l' });
  expect([...groupByName([three, one, other, two])]).toEqual([
    ['k', [one, two, three]],
    ['l', [other]],
  ]);
});
