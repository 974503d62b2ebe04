/** Background work on multipart uploads: it aborts abandoned ones, removes the parts of ended ones, and later their rows. */
import { prepare, type RowOf, readAll, statement } from '../../../shared/stores/statement.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import { addToQuotas, partBytesSql } from './quota-store.ts';
import type { upload } from './schema.ts';

/** An upload whose `due_at` has passed. `name` is hex. */
export type DueUpload = Pick<RowOf<typeof upload>, 'bucket' | 'upload_id' | 'state' | 'ended_at'> & {
  readonly name: string;
  readonly has_parts: number;
};

const listDue = statement<{ nowMs: number }, DueUpload>(
  `SELECT u.bucket, hex(u.name) AS name, u.upload_id, u.state, u.ended_at, EXISTS (SELECT 1 FROM part p WHERE p.upload_id = u.upload_id) AS has_parts
   FROM upload u WHERE u.due_at <= :nowMs ORDER BY u.due_at LIMIT 20`,
);

export const selectDueUploads = (context: EngineContext, shard: number): Promise<DueUpload[]> =>
  readAll(databaseOf(context, shard), listDue, { nowMs: context.now() });

type UploadKey = { bucket: number; name: string; uploadId: string };
const keyOf = ({ bucket, name, upload_id }: DueUpload): UploadKey => ({ bucket, name, uploadId: upload_id });
const THIS_UPLOAD = 'bucket = :bucket AND name = unhex(:name) AND upload_id = :uploadId';

// The slot must be open, because rows of a slot that is being moved must not change.
const IS_ABANDONED = `${THIS_UPLOAD} AND state = 'open' AND due_at <= :nowMs
  AND (SELECT substr(b.slots, slot + 1, 1) = 'o' FROM bucket b WHERE b.n = :bucket)`;
const abort = statement<UploadKey & { nowMs: number }>(
  `UPDATE upload SET state = 'aborted', ended_at = :nowMs, due_at = :nowMs WHERE ${IS_ABANDONED}`,
);
const uncount = statement<UploadKey & { nowMs: number }>(
  addToQuotas(
    `-COALESCE((SELECT ${partBytesSql('upload.upload_id')} FROM upload WHERE ${IS_ABANDONED}), 0)`,
    '0',
    '(SELECT bucket_id FROM bucket WHERE n = :bucket)',
  ),
);

/** Aborts an upload that was abandoned, unless it was completed in the meantime. */
export async function abortDueUpload(context: EngineContext, shard: number, due: DueUpload): Promise<void> {
  const database = databaseOf(context, shard);
  const values = { ...keyOf(due), nowMs: context.now() };
  await database.batch([prepare(database, uncount, values), prepare(database, abort, values)]);
}

const forget = statement<UploadKey>(`DELETE FROM upload WHERE ${THIS_UPLOAD}`);

export async function forgetUpload(context: EngineContext, shard: number, due: DueUpload): Promise<void> {
  await prepare(databaseOf(context, shard), forget, keyOf(due)).run();
}

const postpone = statement<UploadKey & { dueAt: number }>(`UPDATE upload SET due_at = :dueAt WHERE ${THIS_UPLOAD}`);

export async function postponeUpload(
  context: EngineContext,
  shard: number,
  due: DueUpload,
  dueAt: number,
): Promise<void> {
  await prepare(databaseOf(context, shard), postpone, { ...keyOf(due), dueAt }).run();
}

const SOME_PARTS = `upload_id = :uploadId AND part_number IN
  (SELECT part_number FROM part WHERE upload_id = :uploadId ORDER BY part_number LIMIT :limit)`;
const SOME_IDS = `SELECT object_id FROM part WHERE ${SOME_PARTS}`;

type SomeParts = { uploadId: string; limit: number };
const reclaimBlobs = statement<SomeParts & { nowMs: number }>(
  `INSERT INTO reclaim(blob_id, since) SELECT blob_id, :nowMs FROM extent WHERE object_id IN (${SOME_IDS})
   ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`,
);
const dropExtents = statement<SomeParts>(`DELETE FROM extent WHERE object_id IN (${SOME_IDS})`);
const dropParts = statement<SomeParts>(`DELETE FROM part WHERE ${SOME_PARTS}`);

/** Removes up to `limit` parts of an ended upload and marks their blobs for reclamation. @returns the number of removed parts. */
export async function removeParts(
  context: EngineContext,
  shard: number,
  uploadId: string,
  limit: number,
): Promise<number> {
  const database = databaseOf(context, shard);
  const some = { uploadId, limit };
  const outcomes = await database.batch([
    prepare(database, reclaimBlobs, { ...some, nowMs: context.now() }),
    prepare(database, dropExtents, some),
    prepare(database, dropParts, some),
  ]);
  return outcomes[2]?.meta.changes ?? 0;
}
