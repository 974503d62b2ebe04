/** A bucket's names are spread over 256 slots, and each slot is in one database. */
import { crc32 } from 'node:zlib';

export const SLOT_COUNT = 256;

/** CRC-32 of the UTF-8 bytes, folded. Must never change, because rows are placed by it. */
export function slotOf(name: string): number {
  const hash = crc32(name);
  return ((hash >>> 24) ^ (hash >>> 16) ^ (hash >>> 8) ^ hash) & 0xff;
}

/** State of a slot in a shard: `-` not here, `o` open, `s` sealed while it is moved away, `i` coming in. */
export type SlotState = '-' | 'o' | 's' | 'i';

/** The form in DIRECTORY: two hex digits per slot. */
export const formatSlotMap = (shards: Uint8Array): string => Buffer.from(shards).toString('hex');
export const parseSlotMap = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));

/** The initial slot states of a new bucket in one shard. */
export const initialSlotStates = (shards: Uint8Array, shard: number): string =>
  Array.from(shards, (holder) => (holder === shard ? 'o' : '-')).join('');

/** The shards that hold a slot, ascending. */
export const shardsOf = (shards: Uint8Array): number[] => [...new Set(shards)].sort((a, b) => a - b);
