/**
 * Reads small objects from the cache of the data centre while their rows are on the way. An isolate remembers the place of the bytes
 * that it read last of a name. They are compared with the remembered checksums. The caller sends them only if the row then has the
 * same place and the same checksums, so a wrong guess costs one call of the cache.
 */
import { isDeepStrictEqual } from 'node:util';
import { logError } from '../../../shared/telemetry/log.ts';
import type { EngineContext } from '../model/context.ts';
import type { Extent, ReadAhead } from '../model/contract.ts';
import { InProgress } from './in-progress.ts';
import { planPieces } from './pieces.ts';
import { ReadFailure, readPieces } from './read-extents.ts';

const BYTES_MAX = 1024 ** 2;
/** Names that an isolate remembers. A name has at most 1 KB. */
const PLACES_MAX = 2_000;
/** Each holds up to 1 MiB in memory until the row arrives. */
const reads = new InProgress(16);

export function rememberPlace(
  context: EngineContext,
  bucketId: string,
  name: string,
  extents: readonly Extent[],
): void {
  const { places } = context.memory;
  const [extent] = extents;
  if (context.edge === null || extent === undefined || extent.isLost || extent.length > BYTES_MAX) return;
  if (places.size >= PLACES_MAX) places.clear();
  places.set(`${bucketId}/${name}`, extent);
}

/** @returns null if nothing is read ahead. `end` is to be called when the row has arrived. */
export function readAhead(
  context: EngineContext,
  bucketId: string,
  name: string,
): (ReadAhead & { readonly end: () => void }) | null {
  const extent = context.memory.places.get(`${bucketId}/${name}`);
  const end = extent && context.edge ? reads.begin() : null;
  return extent && end ? { extent, bytes: readCached(context, extent), end } : null;
}

/** Reads from the cache alone. @returns null if the cache does not have all bytes, or not intact. */
async function readCached(context: EngineContext, extent: Extent): Promise<Uint8Array<ArrayBuffer> | null> {
  const pieces = planPieces([extent], { start: extent.start, end: extent.start + extent.length - 1 });
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of readPieces({ ...context, nearest: [] }, pieces, () => {})) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof ReadFailure)) logError('read_ahead_failed', error);
    return null;
  }
  return joinBytes(chunks, extent.length);
}

/** @returns the bytes that were read ahead; null if they are not those of the extents. */
export async function takeAhead(
  ahead: ReadAhead | undefined,
  extents: readonly Extent[],
): Promise<Uint8Array<ArrayBuffer> | null> {
  return ahead && isDeepStrictEqual([ahead.extent], extents) ? await ahead.bytes : null;
}

export function joinBytes(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const [only] = chunks;
  return (chunks.length === 1 && only ? only : Buffer.concat(chunks, length)) as Uint8Array<ArrayBuffer>;
}
