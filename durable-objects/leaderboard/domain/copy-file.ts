/**
 * The copy of a shard in R2, under `leaderboard-copies/<season>/<shard>/` in every location: a manifest `copy.json`, and the parts that it
 * names with their SHA-256. A part has the keys and names of 65,536 slots, or one page of events.
 */
import type { BoardRules } from '../../../workers/leaderboard/domain/score-rules.ts';
import type { CopyFault, ShardAddress } from '../protocol.ts';
import type { DayPointsRow, EntryDataRow, LastPostRow, Move, PlayerRow } from './player-rows.ts';

export interface CopyPart {
  readonly name: string;
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

export interface CopyManifest extends ShardAddress {
  /** Number of the copy. Each copy of a shard has a higher one. */
  readonly copy: number;
  /** Number of the last commit that the copy has. */
  readonly logged: number;
  /** Time as of which the copy is exact, in milliseconds since 1970. */
  readonly at: number;
  readonly sealedAt: number | null;
  readonly rules: BoardRules | null;
  /** Number of listed players, and the sum of their scores as decimal text. */
  readonly players: number;
  readonly sum: string;
  readonly parts: readonly CopyPart[];
  readonly events: readonly CopyPart[];
  /** Parts with the data of entries. Absent in copies that were written before boards had data. */
  readonly data?: readonly CopyPart[];
}

/** Contents of a part: values, and columns of bytes. */
export interface PartContent<T> {
  readonly head: T;
  readonly columns: readonly Uint8Array[];
}

export const copyPrefix = ({ season, shard }: Pick<ShardAddress, 'season' | 'shard'>): string =>
  `leaderboard-copies/${season}/${shard}/`;

export const manifestName = 'copy.json';

/** Pages of keys in a part of slots. */
export const PAGES_PER_PART = 16;
const NAME_HASH_DIGITS = 16;

/** The name of a part. @param kind what the part has, such as `slots-0` */
export const partName = (kind: string, sha256: string): string => `${kind}-${sha256.slice(0, NAME_HASH_DIGITS)}`;

/** Head of a part of slots. Its column has the keys of the slots (slot-keys.ts). */
export interface SlotsHead {
  readonly firstPage: number;
  readonly players: readonly PlayerRow[];
  readonly hidden: readonly Move[];
  readonly days: readonly DayPointsRow[];
  /** Absent in copies that were written before shards had them. */
  readonly posts?: readonly LastPostRow[];
}

/** Head of a part with the data of entries, which has no columns. */
export interface DataHead {
  readonly page: number;
  readonly rows: readonly EntryDataRow[];
}

/** Head of a page of events. Its columns are those of the page: slots and records. */
export interface EventsHead {
  readonly id: number;
  readonly at: number;
  readonly userNames: string | null;
}

/** A part as bytes: the length of the head, the head as JSON with the lengths of the columns, the columns. */
export function packPart<T>({ head, columns }: PartContent<T>): Uint8Array {
  const text = Buffer.from(JSON.stringify({ head, lengths: columns.map(({ length }) => length) }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, ...columns]);
}

export function unpackPart<T>(bytes: Uint8Array): PartContent<T> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 4 + buffer.readUInt32LE(0);
  const { head, lengths } = JSON.parse(buffer.toString('utf8', 4, at)) as { head: T; lengths: number[] };
  const columns: Uint8Array[] = [];
  for (const length of lengths) {
    // Each column is copied, so that typed arrays of any width can be made of it.
    columns.push(Uint8Array.from(buffer.subarray(at, at + length)));
    at += length;
  }
  return { head, columns };
}

export const hashPart = async (bytes: Uint8Array): Promise<string> =>
  Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');

/** Thrown if a copy cannot be written or read. */
export class CopyError extends Error {
  readonly kind: CopyFault['kind'];

  constructor(kind: CopyFault['kind'], detail: string) {
    super(detail);
    this.kind = kind;
  }
}
