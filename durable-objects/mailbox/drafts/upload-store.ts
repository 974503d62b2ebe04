/** Files uploaded for a message that is being written. They count against the quota until they are sent or deleted. */
import { err, ok, type Result } from '../../../workers/shared/result.ts';
import { addGarbage, addUsedBytes, first, type MailboxRow, type Row, scheduleWake } from '../store.ts';

/** An upload that no draft holds is deleted after a day. */
const UPLOAD_AGE_MAX_MS = 24 * 3_600_000;
const UPLOADS_MAX = 1_000;

export interface Upload {
  readonly attachmentId: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  /** In every location. */
  readonly r2Key: string;
}

export interface StoredUpload extends Upload {
  /** The draft that holds it, by its position. */
  readonly draftPosition: number | null;
}

export type UploadError =
  | { readonly kind: 'over_quota'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };

interface UploadRow extends Row {
  attachment_id: string;
  file_name: string;
  content_type: string;
  size_bytes: number;
  r2_key: string;
  draft_position: number | null;
}

const toUpload = (row: UploadRow): StoredUpload => ({
  attachmentId: row.attachment_id,
  fileName: row.file_name,
  contentType: row.content_type,
  sizeBytes: row.size_bytes,
  r2Key: row.r2_key,
  draftPosition: row.draft_position,
});

/** Call it once the bytes are in R2. The bytes of a rejected upload become garbage. */
export function insertUpload(
  sql: SqlStorage,
  mailbox: MailboxRow,
  upload: Upload,
  now: number,
): Result<Upload, UploadError> {
  const { usedBytes, limitBytes } = mailbox;
  if (usedBytes + upload.sizeBytes > limitBytes) return err({ kind: 'over_quota', usedBytes, limitBytes });
  const count = first<{ count: number }>(sql, 'SELECT count(*) AS count FROM upload')?.count ?? 0;
  if (count >= UPLOADS_MAX) return err({ kind: 'too_many', what: 'uploads that were not sent', max: UPLOADS_MAX });
  sql.exec(
    'INSERT INTO upload (attachment_id, file_name, content_type, size_bytes, r2_key, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    upload.attachmentId,
    upload.fileName,
    upload.contentType,
    upload.sizeBytes,
    upload.r2Key,
    now,
  );
  addUsedBytes(sql, upload.sizeBytes);
  scheduleWake(sql, 'uploads', now + UPLOAD_AGE_MAX_MS);
  return ok(upload);
}

/** @returns uploads in the order of the ids. Unknown ids are omitted. */
export function readUploads(sql: SqlStorage, ids: readonly string[]): StoredUpload[] {
  const rows = sql.exec<UploadRow>(
    `SELECT u.attachment_id, u.file_name, u.content_type, u.size_bytes, u.r2_key, u.draft_position
     FROM json_each(?) AS j CROSS JOIN upload AS u ON u.attachment_id = j.value ORDER BY j.key`,
    JSON.stringify(ids),
  );
  return [...rows].map(toUpload);
}

/** Sets the uploads that a draft holds. Uploads that it no longer holds are deleted after a day. */
export function holdUploads(sql: SqlStorage, draftPosition: number, ids: readonly string[], now: number): void {
  sql.exec('UPDATE upload SET draft_position = NULL, created_at = ? WHERE draft_position = ?', now, draftPosition);
  sql.exec(
    'UPDATE upload SET draft_position = ? WHERE attachment_id IN (SELECT value FROM json_each(?))',
    draftPosition,
    JSON.stringify(ids),
  );
  scheduleWake(sql, 'uploads', now + UPLOAD_AGE_MAX_MS);
}

/** @returns the uploads among the ids that no draft holds, each once. They are deleted once they were sent. */
export const readLooseUploads = (sql: SqlStorage, ids: readonly string[]): StoredUpload[] =>
  readUploads(sql, [...new Set(ids)]).filter(({ draftPosition }) => draftPosition === null);

/** The bytes of a draft's uploads, which count against the quota in addition to the draft. */
export const countHeldBytes = (sql: SqlStorage, draftPosition: number): number =>
  first<{ bytes: number }>(
    sql,
    'SELECT coalesce(sum(size_bytes), 0) AS bytes FROM upload WHERE draft_position = ?',
    draftPosition,
  )?.bytes ?? 0;

/** Deletes the uploads among the ids that no draft holds. Frees their quota; their R2 objects become garbage. */
export function dropUploads(sql: SqlStorage, ids: readonly string[], now: number): void {
  const uploads = readLooseUploads(sql, ids);
  addGarbage(
    sql,
    uploads.map((upload) => upload.r2Key),
    now,
  );
  addUsedBytes(sql, -uploads.reduce((sum, upload) => sum + upload.sizeBytes, 0));
  sql.exec(
    'DELETE FROM upload WHERE attachment_id IN (SELECT value FROM json_each(?))',
    JSON.stringify(uploads.map((upload) => upload.attachmentId)),
  );
}

export function dropOldUploads(sql: SqlStorage, now: number): void {
  const old = sql.exec<{ attachment_id: string }>(
    'SELECT attachment_id FROM upload WHERE draft_position IS NULL AND created_at <= ?',
    now - UPLOAD_AGE_MAX_MS,
  );
  dropUploads(
    sql,
    [...old].map((row) => row.attachment_id),
    now,
  );
  const oldest = first<{ at: number | null }>(
    sql,
    'SELECT min(created_at) AS at FROM upload WHERE draft_position IS NULL',
  )?.at;
  if (oldest !== null && oldest !== undefined) scheduleWake(sql, 'uploads', oldest + UPLOAD_AGE_MAX_MS);
}
