/** Searches by the beginning of a name. Pure. */

/** The form of a name in which searches compare it: lower case, without differences of Unicode forms. */
export const foldName = (name: string): string => name.normalize('NFKC').toLowerCase();

/** A player whose name was found. */
export interface FoundName {
  readonly userId: string;
  readonly userName: string;
}

/** Merges what the shards found, by name. */
export function mergeNames(found: readonly (readonly FoundName[])[], limit: number): FoundName[] {
  const keyed = found.flat().map((player) => ({ player, key: foldName(player.userName) }));
  keyed.sort((a, b) => compare(a.key, b.key) || compare(a.player.userId, b.player.userId));
  return keyed.slice(0, limit).map(({ player }) => player);
}

/** Compares texts by their characters, as SQLite does. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
