/** Reads of small objects whose bytes are damaged in the place that their row names. */

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { toVersionOrder } from '../../domain/version-order.ts';
import type { EngineContext } from '../model/context.ts';
import type { ByteRange, StoredVersion, Unavailable } from '../model/contract.ts';
import { nameHex } from '../store/database.ts';
import { findSmall } from '../store/small-store.ts';
import { isIntact, mendSmall } from './small-objects.ts';

/** Cuts a range out of the bytes of an object. */
export const cutRange = (bytes: Buffer, { start, end }: ByteRange): Uint8Array<ArrayBuffer> =>
  new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start + 1) as Uint8Array<ArrayBuffer>;

/**
 * Returns intact bytes of a journal page or snapshot, and repairs the row with them. Once a version is set aside, only the scrub
 * searches for its bytes, so that repeated reads of a lost object stay cheap.
 */
export async function readDamaged(
  context: EngineContext,
  version: StoredVersion,
  range: ByteRange,
): Promise<Result<Uint8Array<ArrayBuffer>, Unavailable | { readonly kind: 'data_lost' }>> {
  const { shard, bucketId } = version.handle;
  const key = { bucket: bucketId, nameHex: nameHex(version.name), order: toVersionOrder(version.versionId) };
  try {
    const row = await findSmall(context, shard, key);
    if (row === null || row.objectId !== version.objectId || row.id < 0) return err({ kind: 'data_lost' });
    if (isIntact(row)) return ok(cutRange(Buffer.from(row.data ?? '', 'base64'), range));
    const found = await mendSmall(context, shard, row);
    if (found.kind === 'found') return ok(cutRange(Buffer.from(found.data, 'base64'), range));
    if (found.kind === 'lost') return err({ kind: 'data_lost' });
    return err({ kind: 'unavailable', reason: 'a location that may have intact bytes does not answer' });
  } catch (error) {
    logError('small_object_repair_failed', error, { object_id: version.objectId, shard });
    return err({ kind: 'unavailable', reason: 'the repair of damaged bytes failed' });
  }
}
