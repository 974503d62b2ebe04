/** The rows that one transaction is about: read together, changed in memory, written once each, however often they changed. */
import type { PlayerRow, ShardStore } from './store.ts';

export class PlayerRows {
  readonly #store: ShardStore;
  readonly #rows = new Map<string, PlayerRow>();
  readonly #changed = new Set<string>();

  constructor(store: ShardStore, userIds: ReadonlySet<string>) {
    this.#store = store;
    for (const row of store.findPlayers([...userIds])) this.#rows.set(row.userId, row);
  }

  find(userId: string): PlayerRow | null {
    return this.#rows.get(userId) ?? null;
  }

  put(row: PlayerRow): void {
    this.#rows.set(row.userId, row);
    this.#changed.add(row.userId);
  }

  write(): void {
    this.#store.writePlayers([...this.#changed].flatMap((userId) => this.#rows.get(userId) ?? []));
  }
}
