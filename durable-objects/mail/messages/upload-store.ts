/** Files uploaded for a message that is being written. They count against the quota until they are sent or deleted. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { Upload, UploadError } from '../contract/drafts.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import { addGarbage } from '../database/store.ts';
import type { upload } from './schema.ts';

/** Age at which an upload is deleted if no draft holds it. */
const UPLOAD_AGE_MAX_MS = 24 * 3_600_000;
const UPLOADS_MAX = 1_000;

export interface StoredUpload extends Upload {
  /** Position of the draft that contains this upload; null if no draft does. */
  readonly draftPosition: number | null;
}

type UploadRow = Omit<RowOf<typeof upload>, 'created_at'>;

const toUpload = (row: UploadRow): StoredUpload => ({
  attachmentId: row.attachment_id,
  fileName: row.file_name,
  contentType: row.content_type,
  sizeBytes: row.size_bytes,
  r2Key: row.r2_key,
  draftPosition: row.draft_position,
});

const countAll = statement<Record<never, never>, { count: number }>('SELECT count(*) AS count FROM upload');
const insert = statement<{
  attachmentId: string;
  fileName: string;
  contentType: string;
  sizeBytes: number;
  r2Key: string;
  now: number;
}>(
  `INSERT INTO upload (attachment_id, file_name, content_type, size_bytes, r2_key, created_at)
   VALUES (:attachmentId, :fileName, :contentType, :sizeBytes, :r2Key, :now)`,
);

/** Inserts the row of a file whose bytes are in R2 already. */
export function insertUploadRow(sql: SqlStorage, file: Upload, now: number): void {
  const { attachmentId, fileName, contentType, sizeBytes, r2Key } = file;
  execute(sql, insert, { attachmentId, fileName, contentType, sizeBytes, r2Key, now });
}

/** Adds an upload, within the quota. Call it once the bytes are in R2. If the upload is rejected, the caller deletes the bytes. */
export function insertUpload(
  sql: SqlStorage,
  mailbox: MailboxRow,
  upload: Upload,
  now: number,
): Result<Upload, UploadError> {
  const { usedBytes, limitBytes } = mailbox;
  if (usedBytes + upload.sizeBytes > limitBytes) return err({ kind: 'over_quota', usedBytes, limitBytes });
  if (execute(sql, countAll, {}).one().count >= UPLOADS_MAX)
    return err({ kind: 'too_many', what: 'uploads that were not sent', max: UPLOADS_MAX });
  insertUploadRow(sql, upload, now);
  return ok(upload);
}

const listByIds = statement<{ ids: string }, UploadRow>(
  `SELECT u.attachment_id, u.file_name, u.content_type, u.size_bytes, u.r2_key, u.draft_position
   FROM json_each(:ids) AS j CROSS JOIN upload AS u ON u.attachment_id = j.value ORDER BY j.key`,
);

/** @returns the uploads among the ids, in the order of the ids. Unknown ids are omitted. */
export const readUploads = (sql: SqlStorage, ids: readonly string[]): StoredUpload[] =>
  [...execute(sql, listByIds, { ids: JSON.stringify(ids) })].map(toUpload);

const release = statement<{ position: number; now: number }>(
  'UPDATE upload SET draft_position = NULL, created_at = :now WHERE draft_position = :position',
);
const hold = statement<{ position: number; ids: string }>(
  'UPDATE upload SET draft_position = :position WHERE attachment_id IN (SELECT value FROM json_each(:ids))',
);

/** Sets the uploads of a draft. An upload that the draft no longer contains is deleted after a day. */
export function holdUploads(sql: SqlStorage, draftPosition: number, ids: readonly string[], now: number): void {
  execute(sql, release, { position: draftPosition, now });
  execute(sql, hold, { position: draftPosition, ids: JSON.stringify(ids) });
}

/** @returns the uploads among the ids that no draft contains, each once. Sending the message deletes them. */
export const readLooseUploads = (sql: SqlStorage, ids: readonly string[]): StoredUpload[] =>
  readUploads(sql, [...new Set(ids)]).filter(({ draftPosition }) => draftPosition === null);

const sumHeld = statement<{ position: number }, { bytes: number }>(
  'SELECT coalesce(sum(size_bytes), 0) AS bytes FROM upload WHERE draft_position = :position',
);

/** @returns the total size of a draft's uploads. They count against the quota in addition to the draft itself. */
export const countHeldBytes = (sql: SqlStorage, draftPosition: number): number =>
  execute(sql, sumHeld, { position: draftPosition }).one().bytes;

const deleteByIds = statement<{ ids: string }>(
  'DELETE FROM upload WHERE attachment_id IN (SELECT value FROM json_each(:ids))',
);

/** Deletes rows of uploads, which frees their quota. The R2 objects stay, because another row names them now. */
export function deleteUploadRows(sql: SqlStorage, uploads: readonly Upload[]): void {
  execute(sql, deleteByIds, { ids: JSON.stringify(uploads.map((upload) => upload.attachmentId)) });
}

/** Deletes the uploads among the ids that no draft contains. Frees their quota; their R2 objects become garbage. */
export function dropUploads(sql: SqlStorage, ids: readonly string[], now: number): void {
  const uploads = readLooseUploads(sql, ids);
  addGarbage(
    sql,
    uploads.map((upload) => upload.r2Key),
    now,
  );
  deleteUploadRows(sql, uploads);
}

const listOld = statement<{ until: number }, Pick<UploadRow, 'attachment_id'>>(
  'SELECT attachment_id FROM upload WHERE draft_position IS NULL AND created_at <= :until',
);
export function dropOldUploads(sql: SqlStorage, now: number): void {
  const old = execute(sql, listOld, { until: now - UPLOAD_AGE_MAX_MS });
  dropUploads(
    sql,
    [...old].map((row) => row.attachment_id),
    now,
  );
}

/** Query of the time at which the oldest upload without a draft is deleted. */
export const NEXT_UPLOAD_AT = `SELECT min(created_at) + ${UPLOAD_AGE_MAX_MS} FROM upload WHERE draft_position IS NULL`;
