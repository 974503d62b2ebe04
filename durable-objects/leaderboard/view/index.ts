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
import { inTime } from '../../../workers/shared/concurrency/in-time.ts';
import { answerClose } from '../../../workers/shared/json/web-socket.ts';
import { createClock } from '../../../workers/shared/settings/clock.ts';
import { callInTrace } from '../../../workers/shared/telemetry/invocation.ts';
import { isStale, type PostMark, REFRESH_MS, type TopList, type ViewAddress, type Viewer } from '../protocol.ts';
import { Viewers } from './viewers.ts';

/**
 * Minimum time between two pulls for reads without `minAsOf`. If a shard is silent, every list looks old, so each read would pull.
 */
const PULL_INTERVAL_MS = 100;
/**
 * Time after which every shard has heard of a view that registered: a commit exchanges counts that are a second old. Until then, posts
 * do not mark the view.
 */
const SETTLED_MS = 2_000;
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
  /** Time at which the view last registered, after it was not fed. */
  #fedSince = 0;
  /** Time of the last post by shard that the list in memory may lack. */
  readonly #marks = new Map<number, number>();
  /** The next pull, which begins after the one in progress, so that it has every post before the reads that wait for it. */
  #nextPull: Promise<TopList> | undefined;
  #pullInProgress: Promise<unknown> = Promise.resolve();
  #freshPullAt = 0;
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

  /** Receives posts of this region. The next list has them. */
  async mark(marks: readonly PostMark[]): Promise<void> {
    for (const { shard, writtenAt } of marks) this.#marks.set(shard, Math.max(writtenAt, this.#marks.get(shard) ?? 0));
  }

  async distribution(address: ViewAddress, rangesMax: number): Promise<Distribution> {
    const known = this.#distributions.get(rangesMax);
    const at = this.#now();
    if (known !== undefined && !isStale(known.at, at)) return known.value;
    const { season, shards } = address;
    const asked = Promise.resolve(seasonStub(this.env, season).distribution({ season, shards }, rangesMax)).then(
      (value) => {
        this.#distributions.set(rangesMax, { at, value });
        return value;
      },
    );
    if (known === undefined) return asked;
    return inTime(asked, REFRESH_MS, known.value).catch(() => known.value);
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
    const mayLackPosts = this.#marks.size > 0 || !this.#isMarked(address, now);
    if (minAsOf === 0 && mayLackPosts) return this.#joinNextPull(address);
    if (list !== null && this.#isFed && list.asOf >= minAsOf && isNew) return list;
    // Begins another pull: one in progress may have begun before the time that the caller requires.
    if (minAsOf > 0) return this.#pullList(address, minAsOf);
    this.#pull ??= this.#pullList(address, 0).finally(() => {
      this.#pull = undefined;
    });
    return this.#pull;
  }

  /** Whether posts of this region mark the view. A shard that is alone exchanges no counts, so it does not hear of views. */
  #isMarked({ shards }: ViewAddress, now: number): boolean {
    return shards > 1 && this.#isFed && Math.abs(now - this.#fedSince) > SETTLED_MS;
  }

  #joinNextPull(address: ViewAddress): Promise<TopList> {
    this.#nextPull ??= this.#pullFresh(address);
    return this.#nextPull;
  }

  /** Pulls a list with all posts until now. Reads that arrive before the pull begins share it. */
  async #pullFresh(address: ViewAddress): Promise<TopList> {
    await this.#pullInProgress;
    const waitMs = Math.min(PULL_INTERVAL_MS, this.#freshPullAt + PULL_INTERVAL_MS - Date.now());
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    this.#nextPull = undefined;
    this.#freshPullAt = Date.now();
    // A report of this millisecond may lack a post of this millisecond.
    const now = this.#now() + 1;
    const pull = this.#pullList(address, this.#isMarked(address, now) ? 0 : now, true);
    this.#pullInProgress = pull.catch(() => {});
    return pull;
  }

  async #pullList(address: ViewAddress, minAsOf: number, mayBeOlder = minAsOf === 0): Promise<TopList> {
    const { season, shards, view } = address;
    const marks = Array.from(this.#marks, ([shard, writtenAt]) => ({ shard, writtenAt }));
    const watched = Promise.resolve(seasonStub(this.env, season).watch({ season, shards }, view, minAsOf, marks)).then(
      (list) => {
        if (!this.#isFed) this.#fedSince = this.#now();
        this.#isFed = true;
        for (const { shard, writtenAt } of marks) if (this.#marks.get(shard) === writtenAt) this.#marks.delete(shard);
        this.#pulledAt = this.#now();
        if (this.#list === null || list.asOf >= this.#list.asOf) this.#list = list;
        return list;
      },
    );
    // A season object that is late leaves the last list, which has its own time. One that fails does not: the shards have a newer list.
    const known = this.#list;
    return known === null || !mayBeOlder ? watched : inTime(watched, REFRESH_MS, known);
  }
}

function toLiveList(season: string, list: TopList, limit: number) {
  const json = toListJson(season, toFirstPage(list, limit));
  return { message: JSON.stringify(json), shown: JSON.stringify(json.data) };
}
