/**
 * The object of one season: merges the counts of the shards, answers top lists and pushes them to viewers. Counts are
 * in memory only; after a restart it requests them again.
 *
 * By design: its load depends on the number of shards and viewers, never on the rate of scores.
 */
import { DurableObject, RpcTarget } from 'cloudflare:workers';
import {
  isStale,
  type SeasonAddress,
  type ShardAddress,
  type TopList,
  toShardName,
} from '../../workers/leaderboard/domain/board.ts';
import {
  countRanges,
  type Distribution,
  decideRanges,
  type ScoreRange,
} from '../../workers/leaderboard/domain/distribution.ts';
import { MergedCounts } from '../../workers/leaderboard/domain/merged-counts.ts';
import type { CountAbove } from '../../workers/leaderboard/domain/other-counts.ts';
import { fromTopColumns } from '../../workers/leaderboard/domain/score-columns.ts';
import type { CountAnswer, CountReport } from '../../workers/leaderboard/domain/shard-report.ts';
import { mergeStandings, rankRun, type TopEntry } from '../../workers/leaderboard/domain/standing.ts';
import { toListJson } from '../../workers/leaderboard/domain/standings-json.ts';
import { createClock } from '../../workers/shared/clock.ts';
import { answerClose } from '../../workers/shared/web-socket.ts';
import { beginClosing, SeasonClosing } from './closing.ts';
import { type ClosingStep, ClosingStore } from './closing-store.ts';
import { type LiveList, Viewers } from './viewers.ts';

/** Time that one call spends on a closing. */
const ADVANCE_MS = 15_000;

/** RPC session over which a shard pushes its count changes and receives those of the other shards. */
class ShardLine extends RpcTarget {
  readonly #exchange: (report: CountReport) => Promise<CountAnswer>;

  constructor(exchange: (report: CountReport) => Promise<CountAnswer>) {
    super();
    this.#exchange = exchange;
  }

  exchange(report: CountReport): Promise<CountAnswer> {
    return this.#exchange(report);
  }
}

export class LeaderboardSeason extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #boot = crypto.randomUUID();
  #address: SeasonAddress = { season: '', shards: 0 };
  #counts: MergedCounts | undefined;
  #tops: (readonly TopEntry[])[] = [];
  readonly #requested = new Map<number, Promise<void>>();
  readonly #viewers: Viewers;

  #store: ClosingStore | undefined;
  #closing: SeasonClosing | undefined;
  #advancing: Promise<boolean> | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#now = createClock(env);
    ctx.blockConcurrencyWhile(async () => {
      this.#store = await ClosingStore.open(ctx.storage);
      this.#closing = new SeasonClosing(env, this.#store, this.#now);
    });
    this.#viewers = new Viewers(ctx, (limit) => this.#readLive(limit));
  }

  /** Opens a viewer's connection, as a WebSocket or an event stream. Parameters: `?season=&shards=&limit=`. */
  override async fetch(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    this.#address = { season: query.get('season') ?? '', shards: Number(query.get('shards')) };
    const limit = Number(query.get('limit'));
    return this.#viewers.open(request, limit, this.#readLive(limit));
  }

  /** Ignores messages of viewers. `ping` is answered without waking the object. */
  override webSocketMessage(): void {}

  override webSocketClose(socket: WebSocket, code: number, reason: string): void {
    answerClose(socket, code, reason);
  }

  /** Opens a session for a shard with changes. The platform counts all exchanges of a session as one request. */
  async openLine(address: SeasonAddress): Promise<ShardLine> {
    return new ShardLine((report) => this.#exchange(address, report));
  }

  async #exchange(address: SeasonAddress, report: CountReport): Promise<CountAnswer> {
    const counts = this.#open(address);
    const isUsed = this.#apply(counts, report);
    await this.#pullStale(address, counts, report.shard);
    return counts.answer(report, isUsed);
  }

  async top(address: SeasonAddress, limit: number): Promise<TopList> {
    const counts = this.#open(address);
    await this.#pullStale(address, counts, null);
    return {
      entries: rankRun(mergeStandings(this.#tops, limit), 0, 1),
      players: counts.players,
      asOf: Math.min(this.#now(), counts.asOf),
    };
  }

  /** The players in each of at most `rangesMax` ranges of scores. */
  async distribution(address: SeasonAddress, rangesMax: number): Promise<Distribution> {
    const counts = this.#open(address);
    await this.#pullStale(address, counts, null);
    const { players, least } = counts;
    const best = mergeStandings(this.#tops, 1)[0]?.score ?? least;
    const asOf = Math.min(this.#now(), counts.asOf);
    if (players === 0) return { ranges: [], players, asOf };
    const ranges = decideRanges(least, Math.max(least, best), rangesMax);
    const above = ranges.slice(0, -1).map(({ to }) => counts.countAbove(to));
    const exact = await this.#countInside(address, ranges, above);
    return { ranges: countRanges(ranges, exact, players), players, asOf };
  }

  /** Counts exactly: if a range ends inside a mixed bucket, asks the shards how many of the bucket are above. */
  async #countInside(
    { season, shards }: SeasonAddress,
    ranges: readonly ScoreRange[],
    above: readonly CountAbove[],
  ): Promise<number[]> {
    const scores = above.flatMap(({ unsure }, i) => (unsure > 0 ? [ranges[i]?.to ?? 0] : []));
    if (scores.length === 0) return above.map((each) => each.above);
    const answers = await Promise.all(
      Array.from({ length: shards }, (_, shard) => {
        const address = { season, shard, shards };
        return this.#shard(address).countAbove(address, scores);
      }),
    );
    let asked = 0;
    return above.map(({ above: sure, unsure }) => {
      if (unsure === 0) return sure;
      const now = answers.reduce((sum, counts) => sum + (counts[asked] ?? 0), 0);
      asked++;
      // Scores written between the two queries must not make a range negative.
      return Math.min(sure + unsure, Math.max(sure, now));
    });
  }

  /**
   * Continues the closing of a past month for some seconds. The alarm continues the rest. Idempotent. @returns the
   * progress.
   */
  async close({ season, shards }: SeasonAddress): Promise<{ step: ClosingStep; players: number }> {
    const store = this.#store as ClosingStore;
    if (store.read() === null) {
      this.#viewers.closeAll();
      store.write(beginClosing(season, shards, this.#now()));
    }
    await this.#advance();
    const closing = store.read();
    return { step: closing?.step ?? 'seal', players: closing?.progress.sealed.players ?? 0 };
  }

  override async alarm(): Promise<void> {
    await this.#advance();
  }

  /** Runs once at a time. Concurrent callers wait for the run. */
  #advance(): Promise<boolean> {
    this.#advancing ??= this.#advanceForSeconds().finally(() => {
      this.#advancing = undefined;
    });
    return this.#advancing;
  }

  async #advanceForSeconds(): Promise<boolean> {
    const until = Date.now() + ADVANCE_MS;
    for (let isMore = true; isMore; ) {
      const closing = this.#store?.read();
      if (!closing || !this.#closing) return false;
      isMore = await this.#closing.advance(closing);
      if (isMore && Date.now() > until) {
        await this.ctx.storage.setAlarm(Date.now() + 100);
        return true;
      }
    }
    return false;
  }

  #open(address: SeasonAddress): MergedCounts {
    this.#address = address;
    this.#counts ??= new MergedCounts(address.shards, this.#boot);
    return this.#counts;
  }

  async #readLive(limit: number): Promise<LiveList> {
    const { season } = this.#address;
    const { entries, players, asOf } = await this.top(this.#address, limit);
    const next = players > entries.length ? (entries.at(-1) ?? null) : null;
    const list = toListJson(season, { entries, players, asOf, next });
    return { message: JSON.stringify(list), shown: JSON.stringify(list.data) };
  }

  #apply(counts: MergedCounts, report: CountReport): boolean {
    const outcome = counts.apply(report);
    if (outcome === 'applied' && report.top !== null) this.#tops[report.shard] = fromTopColumns(report.top);
    if (outcome === 'applied') this.#viewers.plan();
    return outcome !== 'refused';
  }

  /**
   * Requests reports from shards whose counts are older than a second. Shards push changes before they acknowledge
   * them. This finds changes whose push failed, and everything after a restart.
   */
  async #pullStale({ season, shards }: SeasonAddress, counts: MergedCounts, except: number | null): Promise<void> {
    const now = this.#now();
    const stale: Promise<void>[] = [];
    for (let shard = 0; shard < shards; shard++) {
      if (shard === except || !isStale(counts.countedAt(shard), now)) continue;
      const request =
        this.#requested.get(shard) ??
        this.#requestReport({ season, shard, shards }, counts).finally(() => this.#requested.delete(shard));
      this.#requested.set(shard, request);
      stale.push(request);
    }
    await Promise.all(stale);
  }

  async #requestReport(address: ShardAddress, counts: MergedCounts): Promise<void> {
    this.#apply(counts, await this.#shard(address).report(address, counts.generation));
  }

  #shard(address: ShardAddress) {
    return this.env.LEADERBOARD_SHARD.get(this.env.LEADERBOARD_SHARD.idFromName(toShardName(address)));
  }
}
