/**
 * Size and number of objects of a bucket. An access key sees S3 only, which has no totals: they are counted from the list of
 * versions, in a few pages at first and completely on request.
 */
import { useEffect, useState } from 'react';
import { isVersion, toNext, withMarkers } from './bulk.ts';
import { type Key, S3Error, s3 } from './s3.ts';
import { parseXml, textOf } from './xml.ts';

export interface Figures {
  bytes: number;
  /** Number of names that are not deleted. */
  objects: number;
  /** Number of versions, without delete markers. */
  versions: number;
  /** Position from which counting continues, or null if everything is counted. */
  next: string | null;
}

const NOTHING: Figures = { bytes: 0, objects: 0, versions: 0, next: null };
/** Requests per bucket, of 1,000 versions each, that run before the user asks for the rest. */
const PAGES_AT_FIRST = 5;
const PARALLEL_BUCKETS = 2;

async function countPage(key: Key, bucket: string, before: Figures, signal: AbortSignal): Promise<Figures> {
  const query = withMarkers({ versions: '', 'max-keys': '1000' }, before.next);
  const answer = parseXml(await (await s3(key, { bucket, query, signal })).text());
  const figures = { ...before, next: toNext(answer) };
  for (const one of answer.children.filter(isVersion)) {
    if (one.name === 'DeleteMarker') continue;
    figures.versions += 1;
    figures.bytes += Number(textOf(one, 'Size'));
    if (textOf(one, 'IsLatest') === 'true') figures.objects += 1;
  }
  return figures;
}

/** Whether everyone may read the bucket, by its policy or ACL. Null if the key may not read them. */
async function readIsPublic(key: Key, bucket: string, signal: AbortSignal): Promise<boolean | null> {
  try {
    const answer = await s3(key, { bucket, query: { policyStatus: '' }, signal });
    return textOf(parseXml(await answer.text()), 'IsPublic').toLowerCase() === 'true';
  } catch (error) {
    if (!(error instanceof S3Error)) throw error;
    return error.code === 'NoSuchBucketPolicy' ? false : null;
  }
}

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  while (running >= PARALLEL_BUCKETS) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

export interface BucketFigures {
  figures: Figures | null;
  isPublic: boolean | null;
  isCounting: boolean;
  error: string | null;
  countAll: () => void;
}

/** Hook with the figures of a bucket. @param isSeen whether the bucket is on the screen. The bucket is counted only then. */
export function useFigures(key: Key, bucket: string, isSeen: boolean): BucketFigures {
  const [state, setState] = useState<Omit<BucketFigures, 'countAll'>>({
    figures: null,
    isPublic: null,
    isCounting: true,
    error: null,
  });
  const [isWhole, setWhole] = useState(false);
  useEffect(() => {
    if (!isSeen) return;
    const stop = new AbortController();
    const set = (part: Partial<typeof state>) => !stop.signal.aborted && setState((before) => ({ ...before, ...part }));
    const count = async () => {
      set({ isCounting: true });
      let figures = NOTHING;
      for (let page = 0; page === 0 || figures.next !== null; page++) {
        if (page === PAGES_AT_FIRST && !isWhole) break;
        figures = await countPage(key, bucket, figures, stop.signal);
        set({ figures });
      }
    };
    inTurn(async () => {
      if (stop.signal.aborted) return;
      await Promise.all([readIsPublic(key, bucket, stop.signal).then((isPublic) => set({ isPublic })), count()]);
    }).then(
      () => set({ isCounting: false }),
      (error: Error) => set({ isCounting: false, error: error.message }),
    );
    return () => stop.abort();
  }, [key, bucket, isSeen, isWhole]);
  return { ...state, countAll: () => setWhole(true) };
}
