/**
 * The shard of a player: FNV-1a over the UTF-16 code units of the user id, mixed once more. The function must never change, because
 * stored data depends on it.
 */
export function shardOf(userId: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < userId.length; i++) hash = Math.imul(hash ^ userId.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return hash % shards;
}
