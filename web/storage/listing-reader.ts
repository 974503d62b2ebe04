/** Reads the pages of one folder in order: further pages on request, and the changed ones again. */
import { describeError } from '../shared/api.ts';
import { showError } from '../shared/toasts.tsx';
import {
  appendPage,
  type Change,
  findRuns,
  type ListedPage,
  nextOf,
  type ReadPage,
  refreshRun,
} from './listing-pages.ts';

export interface Listed {
  readonly pages: readonly ListedPage[];
  readonly error: string | null;
  readonly isLoading: boolean;
}

export interface ListingReader {
  /** Loads further pages until so many entries were added. */
  loadMore(countMax: number): Promise<void>;
  /** Reads the pages again that the changes concern. Everything that is loaded stays loaded. */
  refresh(changes: readonly Change[]): void;
  stop(): void;
}

/** While many pages are loaded, those of this time are shown together. */
const SHOWN_EVERY_MS = 500;

export const NOT_LISTED: Listed = { pages: [], error: null, isLoading: true };

/** @param onListed receives each new state, until `stop`. */
export function readListing(
  place: { bucket: string; prefix: string },
  read: ReadPage,
  onListed: (listed: Listed) => void,
): ListingReader {
  let listed = NOT_LISTED;
  let isStopped = false;
  let waiting: Change[] = [];
  /** Steps run one after the other, so that none overwrites the pages of another. */
  let steps: Promise<void> = Promise.resolve();
  const set = (part: Partial<Listed>, isShown = true) => {
    if (isStopped) return;
    listed = { ...listed, ...part };
    if (isShown) onListed(listed);
  };
  const enqueue = (step: () => Promise<void>): Promise<void> => {
    const run = steps.then(async () => {
      if (isStopped) return;
      await step();
    });
    steps = run.catch(() => undefined);
    return run;
  };
  const loadPage = async (isShown = true) => {
    const token = nextOf(listed.pages);
    // An earlier step may have loaded the last page.
    if (listed.pages.length > 0 && token === null) return;
    set({ isLoading: true }, isShown);
    try {
      const listing = await read(token);
      set({ pages: appendPage(listed.pages, token, listing), error: null, isLoading: false }, isShown);
    } catch (error) {
      set({ isLoading: false });
      throw error;
    }
  };
  const refreshWaiting = async () => {
    const names = toNames(waiting, place.bucket);
    waiting = [];
    if (names?.length === 0) return;
    try {
      // The first page could not be read before.
      if (listed.pages.length === 0) return await loadPage();
      // From the last run to the first, because a run may change the number of its pages.
      let { pages } = listed;
      for (const run of findRuns(pages, place.prefix, names).reverse()) pages = await refreshRun(pages, run, read);
      set({ pages, error: null });
    } catch (error) {
      set({ error: describeError(error) });
    }
  };
  enqueue(() => loadPage()).catch((error: unknown) => set({ error: describeError(error) }));
  return {
    async loadMore(countMax) {
      const count = () => countEntries(listed.pages);
      const before = count();
      let shownAt = Number.NEGATIVE_INFINITY;
      try {
        do {
          const isShown = performance.now() - shownAt > SHOWN_EVERY_MS;
          if (isShown) shownAt = performance.now();
          await enqueue(() => loadPage(isShown));
        } while (!isStopped && nextOf(listed.pages) !== null && count() - before < countMax);
      } catch (error) {
        showError(error);
      }
      set({});
    },
    refresh(changes) {
      const isPlanned = waiting.length > 0;
      waiting = [...waiting, ...changes];
      if (!isPlanned) void enqueue(refreshWaiting);
    },
    stop() {
      isStopped = true;
    },
  };
}

export const countEntries = (pages: readonly ListedPage[]): number =>
  pages.reduce((sum, { listing }) => sum + listing.folders.length + listing.objects.length, 0);

/** Names that changed in the bucket; null if any may have changed. */
function toNames(changes: readonly Change[], bucket: string): string[] | null {
  const here = changes.filter((change) => change.bucket === undefined || change.bucket === bucket);
  if (here.some(({ names }) => names === undefined)) return null;
  return here.flatMap(({ names }) => names ?? []);
}
