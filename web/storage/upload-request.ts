/** One request of an upload: a whole file or a part, with its retries and progress. */
import { storageTexts } from '../shared/texts/storage.ts';
import { type Key, S3Error, toS3Error, toTarget, toUrl } from './s3.ts';
import { sha256Hex, signHeaders } from './sigv4.ts';
import { reportRefusal } from './upload-slots.ts';

const t = storageTexts.uploads;
const ATTEMPTS_MAX = 5;

/** Retries after a network error or an answer 429 or 5xx. Throws all other errors at once. */
export async function withRetries<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const isTransient =
        error instanceof S3Error && (error.status === 0 || error.status >= 500 || error.status === 429);
      if (signal.aborted || !isTransient || tries >= ATTEMPTS_MAX) throw error;
      reportRefusal();
      await new Promise((resolve) => setTimeout(resolve, 400 * 2 ** tries * (0.75 + Math.random() / 2)));
    }
  }
}

/**
 * Uses XMLHttpRequest, because `fetch` does not report the progress of an upload.
 * @returns the ETag.
 */
export async function put(
  key: Key,
  upload: { bucket: string; name: string },
  query: Record<string, string>,
  body: Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
  signal: AbortSignal,
  onProgress: (sentBytes: number) => void,
): Promise<string> {
  const target = toTarget(key, { method: 'PUT', bucket: upload.bucket, key: upload.name, query });
  const signed = await signHeaders(key, target, headers, await sha256Hex(body));
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const onAbort = () => request.abort();
    signal.addEventListener('abort', onAbort);
    request.open('PUT', toUrl(target));
    for (const [name, value] of Object.entries(signed)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onProgress(event.loaded);
    request.onload = async () => {
      if (request.status === 200) resolve((request.getResponseHeader('etag') ?? '').replaceAll('"', ''));
      else reject(await toS3Error(request.status, request.responseText));
    };
    request.onerror = () => reject(new S3Error(0, 'Network', t.serverCannotBeReached));
    request.onabort = () => reject(new DOMException('paused', 'AbortError'));
    request.onloadend = () => signal.removeEventListener('abort', onAbort);
    request.send(body);
  });
}
