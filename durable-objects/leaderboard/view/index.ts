/**
 * The object of one view: a season as seen from one region. Serves top lists, distributions and live viewers near their
 * readers. The season sends it each change of the top list while the view has readers.
 *
 * By design: it stores nothing. A list in memory is served until it is a second old, then pulled from the season.
 */
import { DurableObject } from 'cloudflare:workers';
import type { Distribution } from '../../../workers/leaderboard/domain/distribution.ts';
import { toFirstPage, toListJson } from '../../../workers/leaderboard/domain/standings-json.ts';
import { seasonStub } from '../../../workers/leaderboard/objects.ts';
import { answerClose } from '../../../workers/shared/json/web-socket.ts';
import { createClock } from '../../../workers/shared/settings/clock.ts';
import { callInTrace } from '../../../workers/shared/telemetry/invocation.ts';
import { isStale, type TopList, type ViewAddress, type Viewer } from '../protocol.ts';
import { Viewers } from './viewers.ts';

/**
 * Minimum time between two pulls for reads without `minAsOf`. If a shard is silent, every list looks old, so each read would pull.
 */
const PULL_INTERVAL_MS = 100;
/** A view that had no viewers and readers for this long unregisters from the season's changes. */
const UNUSED_MS = 10_000;

interface Kept<T> {
  readonly at: number;
  readonly value: T;
}

export class LeaderboardView extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #viewers: Viewers;
  #list: TopList | null = null;
  #pull: Promise<TopList> | undefined;
  #pulledAt = 0;
  #usedAt = 0;
  /**
   * True while the season sends changes to this view. Becomes false once the view has answered that it has no readers; it must
   * then register again.
   */
  #isFed = false;
  /** Distributions in memory, by their number of ranges. */
  readonly #distributions = new Map<number, Kept<Distribution>>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#now = createClock(env);
    this.#viewers = new Viewers(ctx);
  }

  /** @param minAsOf time of the list: this or later, if the season has such a list. 0 accepts a list of any time. */
  async top(address: ViewAddress, limit: number, minAsOf: number): Promise<TopList> {
    const { entries, ...rest } = await this.#read(address, minAsOf);
    return { ...rest, entries: entries.slice(0, limit) };
  }

  async distribution(address: ViewAddress, rangesMax: number): Promise<Distribution> {
    const known = this.#distributions.get(rangesMax);
    const at = this.#now();
    if (known !== undefined && !isStale(known.at, at)) return known.value;
    const { season, shards } = address;
    const value = await seasonStub(this.env, season).distribution({ season, shards }, rangesMax);
    this.#distributions.set(rangesMax, { at, value });
    return value;
  }

  /** Opens a viewer's connection. The URL's query is the viewer as JSON. */
  override async fetch(request: Request): Promise<Response> {
    const viewer: ViewAddress & Viewer = JSON.parse(decodeURIComponent(new URL(request.url).search.slice(1)));
    const read = await this.#read(viewer, 0);
    // While the list was read, a newer one may have arrived. It is used instead, because the season does not send it again.
    const list = this.#list ?? read;
    return this.#viewers.open(request, viewer, toLiveList(viewer.season, list, viewer.limit));
  }

  /** Receives a changed list from the season. @returns whether this view has readers. */
  async news(season: string, list: TopList): Promise<boolean> {
    this.#list = list;
    this.#pulledAt = this.#now();
    this.#viewers.send((limit) => toLiveList(season, list, limit));
    this.#isFed = this.#viewers.count > 0 || Math.abs(this.#now() - this.#usedAt) < UNUSED_MS;
    return this.#isFed;
  }

  /** Closes all viewers. The season calls it when it is over. */
  async end(): Promise<void> {
    this.#viewers.closeAll();
  }

  async inTrace(traceId: string, method: string, args: unknown[]): Promise<unknown> {
    return callInTrace(this, this.env, traceId, method, args);
  }

  /** Ignores messages of viewers. The platform answers `ping` without waking the object. */
  override webSocketMessage(): void {}

  override webSocketClose(socket: WebSocket, code: number, reason: string): void {
    this.#viewers.remove(socket);
    answerClose(socket, code, reason);
  }

  override webSocketError(socket: WebSocket): void {
    this.#viewers.remove(socket);
  }

  async #read(address: ViewAddress, minAsOf: number): Promise<TopList> {
    const now = this.#now();
    this.#usedAt = now;
    const list = this.#list;
    const isPulled = Math.abs(now - this.#pulledAt) < PULL_INTERVAL_MS;
    const isNew = isPulled || !isStale(list?.asOf ?? 0, now);
    if (list !== null && this.#isFed && list.asOf >= minAsOf && isNew) return list;
    // Begins another pull: one in progress may have begun before the time that the caller requires.
    if (minAsOf > 0) return this.#pullList(address, minAsOf);
    this.#pull ??= this.#pullList(address, 0).finally(() => {
      this.#pull = undefined;
    });
    return this.#pull;
  }

  async #pullList({ season, shards, view }: ViewAddress, minAsOf: number): Promise<TopList> {
    const list = await seasonStub(this.env, season).watch({ season, shards }, view, minAsOf);
    this.#isFed = true;
    this.#pulledAt = this.#now();
    if (this.#list === null || list.asOf >= this.#list.asOf) this.#list = list;
    return list;
  }
}

function toLiveList(season: string, list: TopList, limit: number) {
  const json = toListJson(season, toFirstPage(list, limit));
  return { message: JSON.stringify(json), shown: JSON.stringify(json.data) };
}
