/** What a pass over the S3 location copies, and in which order. */
import { describe, expect, it } from 'vitest';
import type { ListedObject, ListedPage } from '../../../workers/shared/s3-location/client.ts';
import {
  advancePass,
  beginPass,
  decidePage,
  findTooManyDeletions,
  parsePass,
  RANGES,
} from '../../../workers/shared/s3-location/pass-plan.ts';

const NOW = 1_000_000_000_000;
const HOUR_MS = 3_600_000;
const object = (key: string, more: Partial<ListedObject> = {}): ListedObject => ({
  key,
  size: 1,
  etag: key,
  storedAt: NOW - HOUR_MS,
  ...more,
});
const page = (keys: readonly (string | ListedObject)[], isLast = true): ListedPage => ({
  objects: keys.map((key) => (typeof key === 'string' ? object(key) : key)),
  isLast,
});
const keysOf = (objects: readonly ListedObject[]): string[] => objects.map(({ key }) => key);
const EMPTY = page([]);
const pass = { ...beginPass(parsePass(''), NOW), range: 1 };
const decide = (here: readonly (string | ListedObject)[], there: ListedPage = EMPTY, deletions: ListedPage = EMPTY) =>
  decidePage(pass, [page(here)], there, deletions);

describe('a page', () => {
  it('copies what the S3 location lacks from any location, without markers and the probe of health', () => {
    const lists = [page(['mail/a', 'health']), page(['mail/b', 'missing/0/mail/b'])];
    expect(keysOf(decidePage(pass, lists, EMPTY, EMPTY).copies)).toEqual(['mail/a', 'mail/b']);
  });

  it('compares only up to the end of the shortest list', () => {
    const there = page(['mail/a', 'mail/b'], false);
    const { copies, gone, last } = decide(['mail/a', 'mail/c'], there);
    expect([keysOf(copies), gone, last]).toEqual([[], [{ key: 'mail/b', deletedAt: null }], 'mail/b']);
  });

  it('copies again what changed, also if the server has ETags of its own', () => {
    const own = { etag: 'x-1' };
    const here = [object('owners/a'), object('owners/b'), object('owners/c', { size: 2 })];
    const there = page([
      object('owners/a', { ...own, storedAt: NOW - 2 * HOUR_MS }),
      object('owners/b', { ...own, storedAt: NOW }),
      object('owners/c', { storedAt: NOW }),
    ]);
    expect(keysOf(decide(here, there).copies)).toEqual(['owners/a', 'owners/c']);
  });

  it('reports when a deletion was recorded, and keys that are there again', () => {
    const deletions = page([object('mail/a', { storedAt: 5 }), object('mail/b')]);
    const { gone, returned } = decide(['mail/b'], page(['mail/a', 'mail/b']), deletions);
    expect([gone, returned]).toEqual([[{ key: 'mail/a', deletedAt: 5 }], ['mail/b']]);
  });
});

it('stops before it records that most objects are gone, unless an operator allowed it', () => {
  const emptied = { ...pass, scanned: 0, deletions: 1_001 };
  expect(findTooManyDeletions(emptied, 0)).toContain('1001 objects');
  expect(findTooManyDeletions(emptied, 1_001)).toBeNull();
  expect(findTooManyDeletions({ ...pass, scanned: 20, deletions: 15 }, 0)).toBeNull();
  expect(findTooManyDeletions({ ...pass, scanned: 100_000, deletions: 20_001 }, 0)).not.toBeNull();
});

it('leaves blobs of its own time to the next pass, by the oldest copy in R2', () => {
  const young = { storedAt: NOW + 1 };
  const lists = [
    page([object('blobs/a', young), object('blobs/b', young)]),
    page(['blobs/a', object('blobs/b', young)]),
  ];
  expect(keysOf(decidePage({ ...pass, range: 0 }, lists, EMPTY, EMPTY).copies)).toEqual(['blobs/a']);
});

describe('the order of a pass', () => {
  it('copies bytes, then manifests, then journals, each only if older than the pass', () => {
    const young = { storedAt: NOW };
    const keys = [
      'blobs/1',
      'journal/0/1',
      object('journal/0/2', young),
      'leaderboard-copies/s/0/copy.json',
      object('mail/1', young),
      'snapshots/0/1/manifest.json.gz',
      object('snapshots/0/2/manifest.json.gz', young),
      'snapshots/0/1/version-0.json.gz',
    ];
    const copied = RANGES.map(([from], range) => {
      const after = keys.map((key) => (typeof key === 'string' ? object(key) : key)).filter(({ key }) => key > from);
      return keysOf(decidePage({ ...pass, range }, [page(after)], EMPTY, EMPTY).copies);
    });
    expect(copied).toEqual([
      ['blobs/1'],
      ['mail/1', 'snapshots/0/1/version-0.json.gz'],
      ['leaderboard-copies/s/0/copy.json'],
      ['snapshots/0/1/manifest.json.gz'],
      ['journal/0/1'],
    ]);
  });

  it('says that everything is copied only after a whole pass without a failed copy', () => {
    const last = { ...pass, range: RANGES.length - 1 };
    expect(advancePass(last, null)).toMatchObject({ range: null, through: NOW });
    expect(advancePass({ ...last, failed: 1 }, null)).toMatchObject({ range: null, through: null });
    expect(advancePass(pass, 'mail/b')).toMatchObject({ range: 1, after: 'mail/b' });
  });
});
