/** Finds players of a shard by the beginning of their names. No call awaits, so each is one transaction. */
import type { FoundName } from '../../../workers/leaderboard/domain/name-search.ts';
import { ABSENT } from '../domain/slot-keys.ts';
import type { ShardPlayers } from './shard-players.ts';
import type { ShardStore } from './store.ts';

/** Finds listed players whose folded names begin with a text, by name. The first call writes the names of all players. */
export function findNames(store: ShardStore, players: ShardPlayers, beginning: string, limit: number): FoundName[] {
  if (store.readBoard() === null) return [];
  if (!store.names.isWritten) store.names.writeAll(store.lastSlot());
  const listed = store.names.find(beginning, limit).filter(({ slot }) => players.index.scoreOf(slot) !== ABSENT);
  return listed.map(({ userId, userName }) => ({ userId, userName: userName ?? userId }));
}
