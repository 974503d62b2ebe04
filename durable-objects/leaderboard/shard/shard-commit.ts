/** Changes of one commit: names of players, moves in the list, events, and facts about players. */
import type { PlayerEvent } from '../domain/event-page.ts';
import type { Move, PlayerRow } from '../domain/player-rows.ts';
import type { PlayerFacts } from './player-facts.ts';

export class ShardCommit {
  readonly #players: Map<string, PlayerRow>;
  /** User ids of new and renamed players. */
  readonly #named = new Set<string>();
  readonly #moves = new Map<number, Move>();
  readonly events: PlayerEvent[] = [];
  /** Null for a commit without posts. */
  readonly facts: PlayerFacts | null;

  /** @param players rows of the commit's players, as they are stored */
  constructor(players: readonly PlayerRow[] = [], facts: PlayerFacts | null = null) {
    this.#players = new Map(players.map((row) => [row.userId, row]));
    this.facts = facts;
  }

  get isEmpty(): boolean {
    return this.#named.size + this.#moves.size + this.events.length === 0 && !this.facts?.hasChanges;
  }

  /** The player with the changes of this commit so far. */
  find(userId: string): PlayerRow | undefined {
    return this.#players.get(userId);
  }

  name(row: PlayerRow): void {
    this.#players.set(row.userId, row);
    this.#named.add(row.userId);
  }

  move(move: Move | null): void {
    if (move !== null) this.#moves.set(move.slot, move);
  }

  addEvent(event: PlayerEvent): void {
    this.events.push(event);
  }

  /** New and renamed players. */
  get named(): PlayerRow[] {
    return [...this.#named].map((userId) => this.#players.get(userId) as PlayerRow);
  }

  get moves(): Move[] {
    return [...this.#moves.values()];
  }
}
