/**
 * Sends the top list to the views of a season when it changes, at most every 100 ms. Nothing waits for a view. A view without
 * readers says so in its answer and gets no more lists; it registers again when it has a reader.
 */

import { viewStub, within } from '../../../workers/leaderboard/objects.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import { PUSH_INTERVAL_MS, type TopList } from '../protocol.ts';
import type { SeasonObjectStore } from './store.ts';

const NEWS_MS = 5_000;
const RETRY_MS = 1_000;

interface View {
  readonly name: string;
  isBusy: boolean;
  /** True if the list changed while an earlier list was being sent to the view. */
  isBehind: boolean;
  /** True if the view has registered (again) since the last list was sent to it. */
  isWanted: boolean;
}

const createView = (name: string): View => ({ name, isBusy: false, isBehind: false, isWanted: false });

export class ViewFeed {
  readonly #env: Env;
  readonly #store: SeasonObjectStore;
  readonly #season: string;
  readonly #read: () => TopList;
  readonly #views: Map<string, View>;
  #isPlanned = false;

  constructor(env: Env, store: SeasonObjectStore, season: string, read: () => TopList) {
    this.#env = env;
    this.#store = store;
    this.#season = season;
    this.#read = read;
    this.#views = new Map(store.readViews().map((name) => [name, createView(name)]));
  }

  get names(): string[] {
    return [...this.#views.keys()];
  }

  /** @returns whether the view is new. */
  register(name: string): boolean {
    const known = this.#views.get(name);
    if (known !== undefined) {
      known.isWanted = true;
      return false;
    }
    this.#views.set(name, createView(name));
    this.#store.addView(name);
    return true;
  }

  plan(): void {
    if (this.#isPlanned || this.#views.size === 0) return;
    this.#isPlanned = true;
    setTimeout(() => {
      this.#isPlanned = false;
      const list = this.#read();
      for (const view of this.#views.values()) void this.#send(view, list);
    }, PUSH_INTERVAL_MS);
  }

  /** Sends the list to all views now, for a change that must not be shown any more. Waits a short time for views that are late. */
  async sendNow(): Promise<void> {
    const sent = [...this.#views.keys()].map((name) =>
      within(name, RETRY_MS, viewStub(this.#env, this.#season, name).news(this.#season, this.#read())),
    );
    await Promise.allSettled(sent);
  }

  async end(): Promise<void> {
    const names = [...this.#views.keys()];
    await Promise.allSettled(names.map((name) => within(name, NEWS_MS, viewStub(this.#env, this.#season, name).end())));
    for (const name of names) this.#forget(name);
  }

  async #send(view: View, list: TopList): Promise<void> {
    if (view.isBusy) {
      view.isBehind = true;
      return;
    }
    view.isBusy = true;
    view.isWanted = false;
    try {
      const news = viewStub(this.#env, this.#season, view.name).news(this.#season, list);
      const isRead = await within(view.name, NEWS_MS, news);
      if (!isRead && !view.isWanted) this.#forget(view.name);
    } catch (error) {
      logError('leaderboard_view_unavailable', error, { season: this.#season, view: view.name });
      view.isBehind = true;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    view.isBusy = false;
    if (!view.isBehind) return;
    view.isBehind = false;
    this.plan();
  }

  #forget(name: string): void {
    this.#views.delete(name);
    this.#store.removeView(name);
  }
}
