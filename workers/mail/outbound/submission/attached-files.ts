/** Finds the files of a submitted message. They were uploaded before, or are in the request as Base64. */
import { type Problem, problem } from '../../../shared/json/problem.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import type { SubmitFile } from './request-schema.ts';

export interface FoundFile {
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly contentId: string | null;
  /** Bytes of the file if the request contained them; null if they are stored under `r2Key`. */
  readonly bytes: Uint8Array | null;
  readonly r2Key: string;
}

/** Maximum size of a file in the request, after decoding. A larger file must be uploaded first (`POST /v1/attachments`). */
export const INLINE_FILE_BYTES_MAX = 5 * 1024 * 1024;

export async function findFiles(
  env: Env,
  userId: string,
  files: readonly SubmitFile[],
): Promise<Result<FoundFile[], Problem>> {
  const ids = files.flatMap((file) => ('attachment_id' in file ? [file.attachment_id] : []));
  const uploads = ids.length === 0 ? null : await openMailbox(env, userId).readUploads(ids);
  const known = new Map((uploads?.ok ? uploads.value : []).map((upload) => [upload.attachmentId, upload]));
  const found: FoundFile[] = [];
  for (const [at, file] of files.entries()) {
    if (!('attachment_id' in file)) {
      const decoded = decodeFile(file, at);
      if (!decoded.ok) return decoded;
      found.push(decoded.value);
      continue;
    }
    const upload = known.get(file.attachment_id);
    if (!upload) return err(toFault(at, 'Upload not found.'));
    found.push({ ...upload, contentId: file.content_id ?? null, bytes: null });
  }
  return ok(found);
}

const toFault = (at: number, message: string, status: 400 | 413 = 400): Problem =>
  problem(status, 'bad_attachment', message, { errors: [{ path: `attachments.${at}`, message }] });

function decodeFile(file: Extract<SubmitFile, { content: string }>, at: number): Result<FoundFile, Problem> {
  const plain = file.content.replace(/[\r\n]+/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(plain) || plain.length % 4 !== 0)
    return err(toFault(at, 'content is not Base64.'));
  const bytes = Buffer.from(plain, 'base64');
  if (bytes.length > INLINE_FILE_BYTES_MAX)
    return err(toFault(at, `At most ${INLINE_FILE_BYTES_MAX} bytes in a request. Upload larger files first.`, 413));
  return ok({
    fileName: file.file_name,
    contentType: file.content_type,
    sizeBytes: bytes.length,
    contentId: file.content_id ?? null,
    bytes,
    r2Key: '',
  });
}
