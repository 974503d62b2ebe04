/** A bucket's names are spread over 256 slots, and each slot is in one database. */
import { crc32 } from 'node:zlib';

export const SLOT_COUNT = 256;

/**
 * The slot of a name: the folded CRC-32 of its UTF-8 bytes. The function must never change, because stored rows are placed by it.
 */
export function slotOf(name: string): number {
  const hash = crc32(name);
  return ((hash >>> 24) ^ (hash >>> 16) ^ (hash >>> 8) ^ hash) & 0xff;
}

/**
 * State of a slot in a shard: `-` not in this shard, `o` open, `s` sealed while it is moved to another shard, `i` being copied in
 * from another shard.
 */
export type SlotState = '-' | 'o' | 's' | 'i';

/** Formats a slot map as DIRECTORY stores it: the shard number of each slot as two hex digits. */
export const formatSlotMap = (shards: Uint8Array): string => Buffer.from(shards).toString('hex');
export const parseSlotMap = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));

/** The initial slot states of a new bucket in one shard: open if the map assigns the slot to the shard. */
export const initialSlotStates = (shards: Uint8Array, shard: number): string =>
  Array.from(shards, (holder) => (holder === shard ? 'o' : '-')).join('');

/** The numbers of the shards that hold a slot of the bucket, ascending. */
export const shardsOf = (shards: Uint8Array): number[] => [...new Set(shards)].sort((a, b) => a - b);
