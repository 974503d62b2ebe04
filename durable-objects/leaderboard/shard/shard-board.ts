/**
 * The board of one shard: its rows, its ordered index, its events and its counts for the season. No method awaits, so
 * each call is one transaction. After an error the caller discards the board and the uncommitted rows.
 *
 * A commit writes one row of the log: the new scores and the events. A checkpoint writes the changed pages of scores and
 * events, and the log begins again.
 */

import {
  type BoardRules,
  DEFAULT_RULES,
  keepsData,
  nextScore,
  pointsPerDayAt,
} from '../../../workers/leaderboard/domain/score-rules.ts';
import { parseSeason } from '../../../workers/leaderboard/domain/season-name.ts';
import type { TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { err, ok } from '../../../workers/shared/pure/result.ts';
import { EVENTS_PER_PAGE, EventPage, hashEvent, type PlayerEvent, toSigned } from '../domain/event-page.ts';
import type { Move, PlayerRow } from '../domain/player-rows.ts';
import { bucketOf } from '../domain/score-buckets.ts';
import { ShardCounts } from '../domain/shard-counts.ts';
import { ABSENT } from '../domain/slot-keys.ts';
import {
  type CorrectedPlayer,
  type Correction,
  type CountedEntry,
  type CountedRank,
  EVENT_RETENTION_MS,
  type ScoreResult,
  type ScoreUpdate,
  type ShardAddress,
} from '../protocol.ts';
import { dayOf } from './day-points.ts';
import { EventPages } from './event-pages.ts';
import { PlayerFacts } from './player-facts.ts';
import { ShardCommit } from './shard-commit.ts';
import type { ShardSnapshot } from './shard-copy.ts';
import { ShardPlayers } from './shard-players.ts';
import type { ShardStore } from './store.ts';

/** Maximum of rows in the log, and so of rows that a restart replays. */
const LOG_ROWS_MAX = 4_096;
/** Maximum of event pages in memory: 65,536 events, 2.5 MB. */
const OPEN_PAGES_MAX = 16;

export class ShardBoard {
  readonly address: ShardAddress;
  readonly counts: ShardCounts;
  /** The players in memory. Callers use them only for queries and reports. */
  readonly players: ShardPlayers;
  sealedAt: number | null;
  readonly #store: ShardStore;
  readonly #events: EventPages;
  /** Time at which all counts of the season were 0, in milliseconds since 1970. */
  readonly startsAt: number;
  readonly #endsAt: number;
  #rules: BoardRules;
  #isRulesStored = true;
  #isNew: boolean;
  /** Whether the list is stored as a sealed one. */
  #isPacked: boolean;
  /** Number of the last commit in the log. `#checkpoint` is the number of the last commit in the stored pages. */
  #logged: number;
  #checkpoint: number;

  constructor(store: ShardStore, address: ShardAddress, boot: string) {
    this.#store = store;
    this.#events = new EventPages(store);
    this.address = address;
    const known = store.readBoard();
    this.sealedAt = known?.sealedAt ?? null;
    this.#checkpoint = known?.checkpoint ?? 0;
    this.#logged = this.#checkpoint;
    const season = parseSeason(address.season);
    this.startsAt = season?.startsAt ?? 0;
    this.#endsAt = season?.endsAt ?? 0;
    const named = { ...(season?.rules ?? DEFAULT_RULES), from: 0, pointsPerDayMax: null, pointsPerDayBefore: null };
    this.#rules = known?.rules ?? named;
    this.#isNew = known === null;
    this.#isPacked = (known?.sealedPlayers ?? null) !== null;
    this.counts = new ShardCounts(address.shard, boot);
    this.players = new ShardPlayers(store, this.counts, known?.sealedPlayers ?? null, this.#replay());
  }

  /** Adds the log's events to those of the stored pages. @returns the log's score changes. */
  *#replay(): Generator<Move> {
    for (const { number, moves, events } of this.#store.readLog(this.#checkpoint)) {
      yield* moves;
      const page = EventPage.from(events);
      for (let place = 0; place < page.size; place++) this.#events.add(page.read(place));
      this.#logged = number;
    }
  }

  /**
   * Whether the board accepts no scores: it is sealed, or it is empty after the end of its month because it was archived and
   * erased.
   */
  isClosed(now: number): boolean {
    return this.sealedAt !== null || (this.#isNew && now >= this.#endsAt);
  }

  /** Seals the board: no new scores are accepted, and the list is stored. Idempotent. @returns the number of players. */
  seal(now: number): number {
    this.#begin();
    this.#store.seal(now);
    this.sealedAt ??= now;
    if (!this.#isPacked) this.#pack(now);
    return this.players.index.size;
  }

  #pack(now: number): void {
    this.checkpoint(now);
    this.players.writeSealed();
    this.#isPacked = true;
  }

  /** Number of the last commit. */
  get logged(): number {
    return this.#logged;
  }

  /** Stores the changed pages. @returns what a copy of this moment has */
  takeSnapshot(now: number): ShardSnapshot {
    this.checkpoint(now);
    const [first, last] = this.#store.pageRange();
    return {
      address: this.address,
      copy: this.#store.readCopies() + 1,
      logged: this.#logged,
      at: now,
      sealedAt: this.sealedAt,
      rules: this.#store.readBoard()?.rules ?? null,
      keys: [...this.#store.readScorePages()],
      hidden: this.#store.readHidden(),
      events: first === 0 ? [] : Array.from({ length: last - first + 1 }, (_, i) => first + i),
    };
  }

  /** Continues the copies of a former life of the shard. @param copies number of the last one */
  continueCopies(copies: number): void {
    this.#begin();
    this.#store.writeCopies(copies);
  }

  /** Receives the rules that came with a post. Keeps them if they are newer; the next commit stores them. */
  learnRules(rules: BoardRules): void {
    if (rules.from <= this.#rules.from) return;
    this.#rules = rules;
    this.#isRulesStored = false;
  }

  /** Writes scores in order, each completely or not at all. @param now milliseconds since 1970. */
  score(updates: readonly ScoreUpdate[], now: number): ScoreResult[] {
    const players = this.#find(updates);
    // A post that names a season after its end counts in the last day of the season.
    const day = dayOf(Math.min(now, this.#endsAt - 1));
    const slots = players.map(({ slot }) => slot);
    const pointsPerDayMax = pointsPerDayAt(this.#rules, now);
    const facts = new PlayerFacts(this.#store.facts, slots, updates, { pointsPerDayMax, day, now });
    const commit = new ShardCommit(players, facts);
    const results = updates.map((update) => this.#scoreOne(commit, update, now));
    this.#write(commit, now);
    return results;
  }

  #find(updates: readonly ScoreUpdate[]): PlayerRow[] {
    return this.#store.findPlayers([...new Set(updates.map(({ userId }) => userId))]);
  }

  #scoreOne(commit: ShardCommit, update: ScoreUpdate, now: number): ScoreResult {
    const { userId, points } = update;
    const player = commit.find(userId);
    const hash = update.eventId === null ? null : hashEvent(update.eventId);
    const repeated = player === undefined || hash === null ? null : this.#findRepeated(player, hash, points);
    if (repeated !== null) return repeated;
    if (this.isClosed(now)) return err({ kind: 'season_sealed' });
    const refusal = commit.facts?.findRefusal(player?.slot, update) ?? null;
    if (refusal !== null) return refusal;
    const before = player === undefined ? null : this.players.keyOf(player.slot);
    const score = nextScore(this.#rules, before?.score ?? null, points);
    if (score === null) return err({ kind: 'score_overflow' });
    // A known player whose score stays the same keeps the position. Any other player reaches the score now, after all earlier ones.
    const isSame = score === before?.score;
    const reached = isSame ? before.reached : this.players.takeReached(now);
    const userName = update.userName ?? player?.userName ?? null;
    const slot = player?.slot ?? this.players.takeSlot();
    if (player === undefined || userName !== player.userName) {
      commit.name({ slot, userId, userName });
      if (player !== undefined) this.players.noteRenamed(slot);
    }
    if (!isSame) commit.move(this.players.move({ slot, score, reached }));
    commit.facts?.add(slot, update, keepsData(this.#rules, update, isSame));
    const rank = this.#rank(score);
    if (hash !== null) {
      const event = { slot, hash, points, score, userName, ...rank };
      commit.addEvent(event);
      this.#events.add(event);
    }
    return ok({ userName: userName ?? userId, score, ...rank, isDuplicate: false });
  }

  /** @returns the first answers to known events, a conflict for a known event that had other points, and null for new events. */
  findEvents(updates: readonly ScoreUpdate[]): (ScoreResult | null)[] {
    const players = new Map(this.#find(updates).map((row) => [row.userId, row]));
    return updates.map(({ userId, points, eventId }) => {
      const player = players.get(userId);
      return player === undefined || eventId === null ? null : this.#findRepeated(player, hashEvent(eventId), points);
    });
  }

  #findRepeated({ slot, userId }: PlayerRow, hash: Uint8Array, points: number): ScoreResult | null {
    const event = this.#events.find(slot, hash);
    if (event === null) return null;
    const before = this.#rules.isSigned ? toSigned(event.points) : event.points;
    if (before !== points) return err({ kind: 'event_conflict', points: before });
    const { score, rank, isEstimated } = event;
    return ok({ userName: event.userName ?? userId, score, rank, isEstimated, isDuplicate: true });
  }

  #write(commit: ShardCommit, now: number): void {
    if (commit.isEmpty) return;
    const { events } = commit;
    this.#begin();
    if (!this.#isRulesStored) this.#store.writeRules(this.#rules);
    this.#isRulesStored = true;
    commit.facts?.write();
    this.#store.writePlayers(commit.named);
    let rest = commit.moves;
    let at = 0;
    do {
      const page = new EventPage(Math.min(EVENTS_PER_PAGE, events.length - at));
      while (!page.isFull) page.add(events[at++] as PlayerEvent);
      this.#store.writeLog(this.#logged - this.#checkpoint, ++this.#logged, rest, page.pack());
      rest = [];
    } while (at < events.length);
    const isLogFull = this.#logged - this.#checkpoint >= LOG_ROWS_MAX;
    if (isLogFull || this.#events.openPages > OPEN_PAGES_MAX) this.checkpoint(now);
  }

  /** Stores the changed pages. The log entries before this checkpoint are not needed any more. */
  checkpoint(now: number): void {
    if (this.#logged === this.#checkpoint) return;
    this.players.writeKeys();
    this.#events.flush(Math.ceil(now / 1000));
    this.#store.writeCheckpoint(this.#logged);
    this.#checkpoint = this.#logged;
  }

  /**
   * Stores the changed pages, then removes events that are too old for a retry.
   * @returns whether the board is sealed and needs no further call.
   */
  tidy(now: number): boolean {
    this.checkpoint(now);
    this.#events.prune(Math.floor((now - EVENT_RETENTION_MS) / 1000));
    const isAsleep = this.sealedAt !== null && now - this.sealedAt > EVENT_RETENTION_MS;
    // The rows of the log were kept to be overwritten.
    if (isAsleep) this.#store.clearLog();
    return isAsleep;
  }

  /**
   * The rank of a score by the shard's own players and the last counts of the others. A hash spreads the players over the shards, so
   * own players stand for unknown ones: for those of other shards in the score's bucket, and for all of them before the first counts.
   */
  #rank(score: number): Required<CountedRank> {
    const { index } = this.players;
    const { others, isAnswered } = this.counts;
    const own = index.countAbove(score);
    const { shards } = this.address;
    if (!isAnswered) return { rank: 1 + own * shards, isEstimated: shards > 1 };
    const { above, unsure } = others.countAbove(score);
    if (unsure === 0) return { rank: 1 + own + above, isEstimated: false };
    const [low, high] = bucketOf(score, others.bits);
    const aboveBucket = index.countAbove(high);
    const inBucket = index.countAbove(low - 1) - aboveBucket;
    const part = inBucket === 0 ? (high - score) / (high - low) : (own - aboveBucket) / inBucket;
    return { rank: 1 + own + above + Math.round(unsure * part), isEstimated: true };
  }

  knows(userId: string): boolean {
    return this.#store.findPlayers([userId]).length > 0;
  }

  /** @returns a listed player; null for any other player. */
  find(userId: string): TopEntry | null {
    const [row] = this.#store.findPlayers([userId]);
    if (row === undefined || this.players.index.scoreOf(row.slot) === ABSENT) return null;
    return this.players.toEntry(row);
  }

  /** Data of the scores of players as JSON text, in the order of the ids; null for a player without data. */
  readData(userIds: readonly string[]): (string | null)[] {
    const data = this.#store.facts.readDataOf(userIds);
    return userIds.map((userId) => data.get(userId) ?? null);
  }

  /** @returns a listed player with the rank; null for any other player. */
  standing(userId: string): CountedEntry | null {
    const entry = this.find(userId);
    return entry && { ...entry, ...this.#rank(entry.score) };
  }

  correct(userId: string, change: Correction, now: number): CorrectedPlayer | null {
    const [row] = this.#store.findPlayers([userId]);
    const before = row === undefined ? null : this.players.keyOf(row.slot);
    if (row === undefined || before === null) return null;
    const { slot, userName } = row;
    const score = change.score ?? before.score;
    const wasHidden = this.players.isHidden(slot);
    const isHidden = change.hidden ?? wasHidden;
    const isSame = score === before.score && isHidden === wasHidden;
    const move = { slot, score, reached: isSame ? before.reached : this.players.takeReached(now) };
    const commit = new ShardCommit();
    if (isHidden) {
      commit.move(this.players.leave(slot));
      this.players.hide(move);
    } else {
      this.players.show(slot);
      commit.move(this.players.move(move));
    }
    this.#write(commit, now);
    if (this.#isPacked && !commit.isEmpty) this.#pack(now);
    const { rank, isEstimated } = this.#rank(score);
    return { userName: userName ?? userId, score, rank: isHidden ? null : rank, isEstimated, isHidden };
  }

  /**
   * Erases a player, the player's events, and the out-of-date rows of the log. In a sealed list, the place of the player stays without id and
   * name, so that the ranks of others stay. @returns whether the player was in this shard.
   */
  erase(userId: string, now: number): boolean {
    const [row] = this.#store.findPlayers([userId]);
    if (row === undefined) return false;
    const { slot } = row;
    if (this.sealedAt === null) {
      const commit = new ShardCommit();
      commit.move(this.players.leave(slot));
      this.players.takeReached(now);
      this.#write(commit, now);
    }
    this.players.show(slot);
    this.#store.erasePlayer(slot);
    this.players.noteErased(slot);
    this.checkpoint(now);
    this.#store.clearLog();
    this.#events.erase(slot);
    return true;
  }

  #begin(): void {
    if (!this.#isNew) return;
    this.#store.writeBoard(this.address);
    this.#isNew = false;
  }
}
