/**
 * Pages of a listing, and which of them a change concerns. Names are listed in one order, folders and objects together, so each page
 * covers the names from its first one up to the first one of the next page. Pure, apart from the reads of the caller.
 */
import type { Listing } from './s3.ts';

export interface ListedPage {
  /** Continuation token that the page was read with; null for the first page. */
  readonly token: string | null;
  /** First name that the page covers. It is kept when the page is read again, because the token stays too. */
  readonly start: string;
  readonly listing: Listing;
}

export type ReadPage = (token: string | null) => Promise<Listing>;

/** Objects that changed: in this bucket, under these names or prefixes. Without a bucket, anything may have changed. */
export interface Change {
  readonly bucket?: string;
  readonly names?: readonly string[];
}

/** Compares names in the order of S3, which is that of their UTF-8 bytes. In UTF-16, surrogates precede U+E000 to U+FFFF. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    if (x !== y) return x >= 0xd800 && y >= 0xd800 ? lift(x) - lift(y) : x - y;
  }
  return a.length - b.length;
}
const lift = (unit: number): number => (unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

const firstOf = ({ folders, objects }: Listing): string | undefined => pick(folders[0], objects[0]?.key, -1);
const lastOf = ({ folders, objects }: Listing): string | undefined => pick(folders.at(-1), objects.at(-1)?.key, 1);

function pick(a: string | undefined, b: string | undefined, sign: number): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareNames(a, b) * sign > 0 ? a : b;
}

/** Appends a page. A page of older versions only has no entries, so its successor takes its place. */
export function appendPage(
  pages: readonly ListedPage[],
  token: string | null,
  listing: Listing,
): readonly ListedPage[] {
  const last = pages.at(-1);
  if (!last) return [{ token, start: '', listing }];
  const start = firstOf(listing);
  if (start === undefined)
    return [...pages.slice(0, -1), { ...last, listing: { ...last.listing, next: listing.next } }];
  return [...pages, { token, start, listing }];
}

export const nextOf = (pages: readonly ListedPage[]): string | null => pages.at(-1)?.listing.next ?? null;

/** Returns the entry that stands for a name in a listing of the prefix: a folder or the object itself. */
function toEntryName(name: string, prefix: string): string {
  const slash = name.indexOf('/', prefix.length);
  return slash === -1 ? name : name.slice(0, slash + 1);
}

/** A run of pages, both ends included. */
export interface Run {
  readonly from: number;
  readonly to: number;
}

/** Finds the pages that changes concern, as few runs as possible. */
export function findRuns(pages: readonly ListedPage[], prefix: string, names: readonly string[] | null): Run[] {
  if (names === null || names.some((name) => prefix.startsWith(name))) return [{ from: 0, to: pages.length - 1 }];
  const found = new Set<number>();
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const entry = toEntryName(name, prefix);
    found.add(pages.findLastIndex(({ start }) => compareNames(start, entry) <= 0));
  }
  const runs: Run[] = [];
  for (const at of [...found].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last.to + 1 === at) runs.splice(-1, 1, { from: last.from, to: at });
    else runs.push({ from: at, to: at });
  }
  return runs;
}

/** The part of a listing before a name that the next page covers. */
function clip(listing: Listing, before: string, next: string | null): Listing {
  return {
    folders: listing.folders.filter((folder) => compareNames(folder, before) < 0),
    objects: listing.objects.filter(({ key }) => compareNames(key, before) < 0),
    next,
  };
}

/** Reads a run of pages again. A listing that was complete stays complete, however many entries were added. */
export async function refreshRun(pages: readonly ListedPage[], { from, to }: Run, read: ReadPage) {
  const first = pages[from];
  if (!first) return pages;
  const after = pages[to + 1];
  const end = after?.start ?? (nextOf(pages) === null ? null : lastOf(pages[to]?.listing ?? first.listing));
  let fresh: readonly ListedPage[] = [];
  let token = first.token;
  for (;;) {
    const listing = await read(token);
    const last = lastOf(listing) ?? '';
    const isEnd = listing.next === null || (typeof end === 'string' && compareNames(last, end) >= 0);
    const kept = isEnd && after ? clip(listing, after.start, after.token) : listing;
    fresh = fresh.length === 0 ? [{ ...first, listing: kept }] : appendPage(fresh, token, kept);
    if (isEnd) return [...pages.slice(0, from), ...fresh, ...pages.slice(to + 1)];
    token = listing.next;
  }
}
