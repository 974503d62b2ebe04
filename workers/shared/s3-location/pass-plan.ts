/** Decides what a pass over the S3 location does with a page of keys. No I/O. */
import type { ListedObject, ListedPage } from './client.ts';

/** Progress of a pass, kept in DIRECTORY. Times are milliseconds since 1970 UTC. */
export interface Pass {
  /** Index of the range of keys; null between two passes. */
  readonly range: number | null;
  /** Last key that was compared; '' at the start of a range. */
  readonly after: string;
  readonly startedAt: number;
  /** Beginning of the last pass that copied everything; null before the first one. The S3 location has all that is older. */
  readonly through: number | null;
  readonly leaseUntil: number;
  readonly scanned: number;
  readonly copied: number;
  readonly bytes: number;
  readonly failed: number;
  /** Number of deletions that this pass recorded. */
  readonly deletions: number;
}

type What = 'bytes' | 'manifests' | 'journals';

/** Ranges of keys in the order in which a pass copies them: after the first, before the second text. '' is the end. */
export const RANGES: readonly (readonly [from: string, to: string, what: What])[] = [
  ['.tessera0', 'journal/', 'bytes'],
  ['journal0', '', 'bytes'],
  ['leaderboard', 'leaderboas', 'manifests'],
  ['snapshots/', 'snapshots0', 'manifests'],
  ['journal/', 'journal0', 'journals'],
];

/** Keys of R2 that are not copied: markers of missing copies in R2, early copies (the journal has their bytes), and the probe of health. */
const IS_LOCAL = /^(?:missing\/|small\/|health$)/;
/** The last file of a snapshot, of an archive, and of the copy of a shard of a board. It names the others. */
const IS_MANIFEST = /\/(?:manifest\.json(?:\.gz)?|copy\.json)$/;
/** Blobs never change. */
const isBlob = ({ key }: Pick<ListedObject, 'key'>): boolean => key.startsWith('blobs/');
/** Clocks of R2 and the S3 location may differ by this. */
const SKEW_MS = 300_000;

const NOT_BEGUN: Pass = {
  range: null,
  after: '',
  startedAt: 0,
  through: null,
  leaseUntil: 0,
  scanned: 0,
  copied: 0,
  bytes: 0,
  failed: 0,
  deletions: 0,
};

export const parsePass = (text: string): Pass => (text === '' ? NOT_BEGUN : (JSON.parse(text) as Pass));

export const beginPass = ({ through }: Pass, now: number): Pass => ({
  ...NOT_BEGUN,
  range: 0,
  startedAt: now,
  through,
});

export interface PageDecision {
  readonly copies: readonly ListedObject[];
  /** Keys of the S3 location that R2 did not list, and when their deletion was recorded. */
  readonly gone: readonly { readonly key: string; readonly deletedAt: number | null }[];
  /** Keys whose deletion is recorded although R2 has them. */
  readonly returned: readonly string[];
  readonly scanned: number;
  /** Last key that was compared; null at the end of the range. */
  readonly last: string | null;
}

/**
 * Compares a page of each R2 location with one of the S3 location. Only keys up to the end of the shortest list are compared.
 * @param deletions the recorded deletions of keys in the same order.
 */
export function decidePage(
  pass: Pass,
  locations: readonly ListedPage[],
  outside: ListedPage,
  deletions: ListedPage,
): PageDecision {
  const range = pass.range ?? 0;
  const [, to = '', what = 'bytes'] = RANGES[range] ?? [];
  const last = findLast([...locations, outside, deletions]);
  const isIn = ({ key }: ListedObject) => (last === null || key <= last) && (to === '' || key < to);
  const here = new Map<string, ListedObject>();
  for (const { objects } of locations)
    for (const object of objects) {
      const known = here.get(object.key);
      const isOlderBlob = known !== undefined && isBlob(object) && object.storedAt < known.storedAt;
      if (isIn(object) && (known === undefined || isOlderBlob)) here.set(object.key, object);
    }
  const there = new Map(outside.objects.filter(isIn).map((object) => [object.key, object]));
  const deleted = new Map(deletions.objects.filter(isIn).map((object) => [object.key, object.storedAt]));
  const isOver = last === null || (to !== '' && last >= to);
  return {
    copies: [...here.values()].filter(
      (object) => isCopied(object, what, pass.startedAt) && !isSame(object, there.get(object.key)),
    ),
    gone:
      what === 'manifests'
        ? []
        : [...there.keys()]
            .filter((key) => !here.has(key))
            .map((key) => ({ key, deletedAt: deleted.get(key) ?? null })),
    returned: [...deleted.keys()].filter((key) => here.has(key)),
    scanned: what === 'manifests' ? 0 : here.size,
    last: isOver ? null : last,
  };
}

export interface KeyComparison {
  readonly here: ReadonlyMap<string, ListedObject>;
  readonly there: readonly ListedObject[];
  /** Objects of R2 that are older than `through` and that the S3 location lacks, or has in another size. */
  readonly missing: readonly ListedObject[];
  /** Objects of the S3 location that R2 lacks, without a recorded deletion. */
  readonly unrecorded: readonly ListedObject[];
  /** Last key that was compared; null at the end. */
  readonly last: string | null;
}

/** Compares a page of keys for a check. @param through time up to which the S3 location has everything. */
export function compareKeys(
  locations: readonly ListedPage[],
  outside: ListedPage,
  deletions: ListedPage,
  through: number,
): KeyComparison {
  const last = findLast([...locations, outside, deletions]);
  const isIn = ({ key }: ListedObject) => (last === null || key <= last) && !IS_LOCAL.test(key);
  const here = new Map(locations.flatMap(({ objects }) => objects.filter(isIn).map((object) => [object.key, object])));
  const there = outside.objects.filter(isIn);
  const found = new Map(there.map((object) => [object.key, object]));
  const deleted = new Set(deletions.objects.map(({ key }) => key));
  const isMissing = ({ key, size, storedAt }: ListedObject) => storedAt < through && found.get(key)?.size !== size;
  return {
    here,
    there,
    missing: [...here.values()].filter(isMissing),
    unrecorded: there.filter(({ key }) => !here.has(key) && !deleted.has(key)),
    last,
  };
}

/** Number of deletions that a pass may always record. Above it, at most a fifth of the keys. */
const DELETIONS_MIN = 1_000;
const DELETIONS_SHARE_MAX = 0.2;

/** The reason why a pass records no further deletion, or null. @param approved number that an operator allowed. */
export function findTooManyDeletions({ scanned, deletions }: Pass, approved: number): string | null {
  const allowed = Math.max(DELETIONS_MIN, Math.floor(scanned * DELETIONS_SHARE_MAX), approved);
  if (deletions <= allowed) return null;
  return `${deletions} objects of the S3 location are gone from R2, which has ${scanned} of those compared: more than a pass may record`;
}

/** Moves a pass to the next page. Only a pass without a failed copy moves `through`. */
export function advancePass(pass: Pass, last: string | null): Pass {
  const range = pass.range ?? 0;
  if (last !== null) return { ...pass, after: last };
  if (range + 1 < RANGES.length) return { ...pass, range: range + 1, after: '' };
  return { ...pass, range: null, after: '', through: pass.failed === 0 ? pass.startedAt : pass.through };
}

/** The last key up to which every list is whole; null if all are whole to the end. */
function findLast(pages: readonly ListedPage[]): string | null {
  const ends = pages.flatMap(({ objects, isLast }) => (isLast ? [] : [objects.at(-1)?.key ?? '']));
  return ends.length === 0 ? null : ends.reduce((least, end) => (end < least ? end : least));
}

function isCopied({ key, storedAt }: ListedObject, what: What, startedAt: number): boolean {
  if (IS_LOCAL.test(key)) return false;
  // Blobs of the time of the pass are left to the next one. Otherwise a pass would not end while more is uploaded than it copies.
  if (what === 'bytes') return !IS_MANIFEST.test(key) && (storedAt < startedAt || !isBlob({ key }));
  return storedAt < startedAt && (what === 'journals' || IS_MANIFEST.test(key));
}

/**
 * Whether the S3 location has the same object. Equal ETags are equal bytes. Of other keys than blobs with an ETag that is not an
 * MD5, such as those of encrypted buckets, the later one counts.
 */
function isSame(here: ListedObject, there: ListedObject | undefined): boolean {
  if (there === undefined || here.size !== there.size) return false;
  return here.etag === there.etag || isBlob(here) || there.storedAt > here.storedAt + SKEW_MS;
}
