/** A bucket's names are spread over 256 slots, and each slot lives in one database. */
import { crc32 } from 'node:zlib';

export const SLOT_COUNT = 256;

/** CRC-32 of the UTF-8 bytes, folded: stable for ever, because rows are kept by it. */
export function slotOf(name: string): number {
  const hash = crc32(name);
  return ((hash >>> 24) ^ (hash >>> 16) ^ (hash >>> 8) ^ hash) & 0xff;
}

/** What a database says of each slot of a bucket: `-` not here, `o` open, `s` sealed while it is moved away, `i` coming in. */
export type SlotState = '-' | 'o' | 's' | 'i';

/** Two hex digits a slot, as DIRECTORY keeps it. */
export const formatSlotMap = (shards: Uint8Array): string => Buffer.from(shards).toString('hex');
export const parseSlotMap = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'));

/** The slot states of one database as a new bucket begins there. */
export const initialSlotStates = (shards: Uint8Array, shard: number): string =>
  Array.from(shards, (holder) => (holder === shard ? 'o' : '-')).join('');

/** Every shard that holds a slot, ascending. */
export const shardsOf = (shards: Uint8Array): number[] => [...new Set(shards)].sort((a, b) => a - b);
