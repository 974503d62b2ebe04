/**
 * The state of one transaction of scores: the players' rows, read together, changed in memory and written once each;
 * and the events that changed them.
 *
 * By design: a few events are stored in their players' rows, so that a single post writes one row. Many events share a
 * page: one more row for all of them, instead of one more record in each player's row.
 */
import { EVENT_RETENTION_MS } from '../../workers/leaderboard/domain/board.ts';
import {
  appendEvent,
  findPlace,
  NO_EVENTS,
  readEvent,
  readEvents,
  type ScoredEvent,
} from '../../workers/leaderboard/domain/event-log.ts';
import type { EventPages, PlayerEvent } from './event-pages.ts';
import type { PlayerRow, ShardStore } from './store.ts';

/** With this minimum, a page adds at most an eighth of a row per score. */
const EVENTS_ON_PAGE_MIN = 8;

interface ScoredPlayer {
  /** The row in SQL. Its events have its name. */
  readonly before: PlayerRow | null;
  row: PlayerRow;
  readonly events: PlayerEvent[];
}

export class ScoreRound {
  readonly #store: ShardStore;
  readonly #pages: EventPages;
  readonly #before = new Map<string, PlayerRow>();
  readonly #changed = new Map<string, ScoredPlayer>();

  constructor(store: ShardStore, pages: EventPages, userIds: ReadonlySet<string>) {
    this.#store = store;
    this.#pages = pages;
    for (const row of store.findPlayers([...userIds])) this.#before.set(row.userId, row);
  }

  find(userId: string): PlayerRow | null {
    return this.#changed.get(userId)?.row ?? this.#before.get(userId) ?? null;
  }

  /** The first result of a player's event, if it was seen before. */
  findEvent(userId: string, hash: Uint8Array): Omit<PlayerEvent, 'slot'> | null {
    const isSame = ({ event }: PlayerEvent) => event.hash.every((byte, i) => byte === hash[i]);
    const own = this.#changed.get(userId)?.events.find(isSame);
    if (own !== undefined) return own;
    const before = this.#before.get(userId);
    if (before === undefined) return null;
    const place = findPlace(before.events, hash);
    if (place >= 0) return { event: readEvent(before.events, place), userName: before.userName };
    return this.#pages.find(before.slot, hash);
  }

  /** @param event the event that changed the row, if it has an id. */
  put(row: PlayerRow, event: ScoredEvent | null): void {
    const known = this.#changed.get(row.userId);
    const player = known ?? { before: this.#before.get(row.userId) ?? null, row, events: [] };
    if (known === undefined) this.#changed.set(row.userId, player);
    player.row = row;
    if (event !== null) player.events.push({ slot: row.slot, event, userName: row.userName });
  }

  /** @param now milliseconds. */
  write(now: number): void {
    const seconds = Math.floor(now / 1000);
    const players = [...this.#changed.values()];
    const isPaged =
      players.reduce((sum, { events }) => sum + events.length, 0) >= EVENTS_ON_PAGE_MIN && this.#pages.hasRoom;
    const paged: PlayerEvent[] = [];
    const whole: PlayerRow[] = [];
    const scores: PlayerRow[] = [];
    for (const { before, row, events } of players) {
      const { slot, userName } = row;
      let log = row.events;
      if (before !== null && before.userName !== userName) {
        // The first answers had the old name, and retries must return it.
        for (const event of readEvents(log)) paged.push({ slot, event, userName: before.userName });
        log = NO_EVENTS;
      }
      for (const each of events) {
        if (isPaged || each.userName !== userName) {
          paged.push(each);
          continue;
        }
        const appended = appendEvent(log, each.event, seconds - EVENT_RETENTION_MS / 1000);
        for (const event of appended.spilled) paged.push({ slot, event, userName });
        log = appended.log;
      }
      const isScore = before !== null && before.userName === userName && log === row.events;
      if (isScore) scores.push(row);
      else whole.push({ ...row, events: log });
    }
    this.#store.writePlayers(whole);
    this.#store.writeScores(scores);
    this.#pages.add(paged, seconds);
  }
}
