/** The files of a message that is being sent: uploaded before, or in the request as Base64. */
import { type Problem, problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import type { SubmitFile } from './submit-schema.ts';

export interface FoundFile {
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly contentId: string | null;
  /** In hand when they came with the request; else they lie under `r2Key`. */
  readonly bytes: Uint8Array | null;
  readonly r2Key: string;
}

/** Decoded; a larger file is uploaded first (`POST /v1/attachments`). */
export const INLINE_FILE_BYTES_MAX = 5 * 1024 * 1024;

export async function findFiles(
  _env: Env,
  _userId: string,
  files: readonly SubmitFile[],
): Promise<Result<FoundFile[], Problem>> {
  const found: FoundFile[] = [];
  for (const [at, file] of files.entries()) {
    const decoded = decodeFile(file, at);
    if (!decoded.ok) return decoded;
    found.push(decoded.value);
  }
  return ok(found);
}

function decodeFile(file: SubmitFile, at: number): Result<FoundFile, Problem> {
  const path = `attachments.${at}`;
  const fault = (message: string, status = 400) =>
    err(problem(status, 'bad_attachment', undefined, { errors: [{ path, message }] }));
  if (!('content' in file)) return fault('There is no such upload of yours.');
  const plain = file.content.replace(/[\r\n]+/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(plain) || plain.length % 4 !== 0) return fault('content is not Base64.');
  const bytes = Buffer.from(plain, 'base64');
  if (bytes.length > INLINE_FILE_BYTES_MAX)
    return fault(`At most ${INLINE_FILE_BYTES_MAX} bytes in a request; upload larger files first.`, 413);
  return ok({
    fileName: file.file_name,
    contentType: file.content_type,
    sizeBytes: bytes.length,
    contentId: file.content_id ?? null,
    bytes,
    r2Key: '',
  });
}
