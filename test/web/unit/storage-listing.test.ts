import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appendPage,
  compareNames,
  findRuns,
  type ListedPage,
  nextOf,
  type ReadPage,
  refreshRun,
} from '../../../web/storage/listing-pages.ts';
import type { Listing } from '../../../web/storage/s3.ts';
import { afterRefusal, afterSuccess, limitMax, type Pace, startPace } from '../../../web/storage/upload-pace.ts';

/** Lists names as S3 does: in order, with folders, in pages. A token is the first name of its page. */
function listOf(names: Iterable<string>, prefix: string, perPage: number): ReadPage {
  const entries = [
    ...new Set(
      [...names]
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(0, name.indexOf('/', prefix.length) + 1 || name.length)),
    ),
  ].sort(compareNames);
  return async (token) => {
    const from = token === null ? 0 : entries.findIndex((entry) => compareNames(entry, token) >= 0);
    const page = from === -1 ? [] : entries.slice(from, from + perPage);
    const next = from === -1 ? null : (entries[from + perPage] ?? null);
    return {
      folders: page.filter((entry) => entry.endsWith('/')),
      objects: page.filter((entry) => !entry.endsWith('/')).map((key) => ({ key, size: 1, modifiedAt: '', etag: '' })),
      next,
    };
  };
}

async function readPages(read: ReadPage, countMax: number): Promise<readonly ListedPage[]> {
  let pages: readonly ListedPage[] = [];
  do {
    const token = nextOf(pages);
    pages = appendPage(pages, token, await read(token));
  } while (nextOf(pages) !== null && pages.length < countMax);
  return pages;
}

async function refresh(pages: readonly ListedPage[], prefix: string, names: string[] | null, read: ReadPage) {
  let now = pages;
  for (const run of findRuns(pages, prefix, names).reverse()) now = await refreshRun(now, run, read);
  return now;
}

const entriesOf = (pages: readonly ListedPage[]): string[] =>
  pages.flatMap(({ listing }) => [...listing.folders, ...listing.objects.map(({ key }) => key)]).sort(compareNames);

const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '/', '\uff01', '😀'), minLength: 1, maxLength: 5 });

describe('a listing', () => {
  it('is complete and in order after any changes, if everything was loaded', async () => {
    const names = fc.uniqueArray(name, { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(names, names, names, fc.integer({ min: 1, max: 9 }), async (before, added, removed, perPage) => {
        const after = new Set([...before, ...added].filter((one) => !removed.includes(one)));
        const pages = await readPages(listOf(before, '', perPage), 1_000);
        const changed = await refresh(pages, '', [...added, ...removed], listOf(after, '', perPage));
        const whole = await readPages(listOf(after, '', perPage), 1_000);
        expect(entriesOf(changed)).toEqual(entriesOf(whole));
        expect(nextOf(changed)).toBeNull();
      }),
    );
  });

  it('reads only the pages of the changed names again', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `n${String(n).padStart(3, '0')}`);
    const pages = await readPages(listOf(names, '', 10), 1_000);
    const tokens: (string | null)[] = [];
    const list = listOf([...names, 'n055a'], '', 10);
    const read = async (token: string | null): Promise<Listing> => {
      tokens.push(token);
      return list(token);
    };
    const changed = await refresh(pages, '', ['n055a', 'n056'], read);
    // The page has eleven entries now, so it takes two requests.
    expect(tokens).toEqual(['n050', 'n059']);
    expect(entriesOf(changed)).toHaveLength(101);
    expect(findRuns(pages, '', ['n001', 'n012', 'n090', 'n999'])).toEqual([
      { from: 0, to: 1 },
      { from: 9, to: 9 },
    ]);
    expect(findRuns(pages, 'n', ['other'])).toEqual([]);
    expect(findRuns(pages, 'n0', ['n'])).toEqual([{ from: 0, to: 9 }]);
  });

  it('that is not loaded to its end stays so', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `n${String(n).padStart(3, '0')}`);
    const pages = await readPages(listOf(names, '', 10), 2);
    const changed = await refresh(pages, '', null, listOf([...names, 'n000a'], '', 10));
    expect(entriesOf(changed).slice(0, 3)).toEqual(['n000', 'n000a', 'n001']);
    expect(entriesOf(changed).length).toBeGreaterThanOrEqual(20);
    expect(entriesOf(changed).length).toBeLessThanOrEqual(30);
    expect(nextOf(changed)).not.toBeNull();
  });

  it('has names in the order of their UTF-8 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (a, b) => {
        expect(Math.sign(compareNames(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});

/** Uploads over a line that bears so many requests at a time: more of them are slower by as much. */
function runUploads(bears: number, max: number, rounds: number): Pace {
  let now = 0;
  let pace = startPace(now);
  for (let request = 0; request < rounds * max; request++) {
    now += 100 / Math.min(pace.limit, bears);
    pace = afterSuccess(pace, 1_000, now, max);
  }
  return pace;
}

describe('the pace of uploads', () => {
  it('rises while that is faster, and stays at what the line bears', () => {
    expect(runUploads(100, 5, 20).limit).toBe(5);
    expect(runUploads(100, 12, 20).limit).toBe(12);
    const { limit, isTrial } = runUploads(4, 12, 20);
    expect(limit - Number(isTrial)).toBe(4);
  });

  it('halves when a request is refused, and never stops', () => {
    const fast = runUploads(100, 12, 20);
    const slower = afterRefusal(fast, 0);
    expect(slower.limit).toBe(6);
    expect([slower, slower, slower, slower].reduce((pace) => afterRefusal(pace, 0)).limit).toBe(1);
  });

  it('leaves one of the six connections of HTTP/1 to the page', () => {
    expect(['h3', 'h2', 'http/1.1', ''].map(limitMax)).toEqual([12, 12, 5, 5]);
  });
});
