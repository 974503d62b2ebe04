/** Serves bytes from R2, with ranges. Its headers prevent browsers from running stored content as our page. */
import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { type JsonApiEnv, sendProblem } from '../../shared/json/json-api.ts';
import { ProblemError, problem } from '../../shared/json/problem.ts';
import { type ByteRange, decideRange, doesIfRangeHold, toContentRange } from '../../shared/pure/http-range.ts';
import { getBlob } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { readPieces } from '../inbound/process/delivery.ts';
import { type AttachmentPlace, readAttachment } from '../inbound/process/stored-attachment.ts';
import { composeDraft, streamDraft } from '../outbound/compose-draft.ts';
import { NOT_FOUND } from '../schemas/errors.ts';

/** Media types that browsers display. All other types are downloaded. */
const RASTER_IMAGES = /^image\/(?:png|jpeg|gif|webp)$/i;

/** Bytes that a route serves, with their name and type. */
export interface StoredBytes {
  readonly fileName: string;
  readonly contentType: string;
  readonly open: () => Promise<OpenBytes>;
}

interface OpenBytes {
  readonly sizeBytes: number;
  /** ETag of the bytes, with its quotes. */
  readonly etag: string;
  /**
   * Reads the bytes. Call exactly one of `read` and `discard`, exactly once.
   * @param part the range to read; by default all bytes.
   */
  readonly read: (part?: ByteRange) => Promise<ReadableStream<Uint8Array>>;
  readonly discard: () => Promise<void>;
}

/** Opens a raw message in R2. */
export const openRaw = (c: Context<JsonApiEnv>, key: string) => async (): Promise<OpenBytes> => {
  const get = async (range?: R2Range) => {
    const found = await getBlob(c.env, key, range);
    if (!found) throw new Error(`bytes are missing in every location: ${key}`);
    return found;
  };
  const whole = await get(c.req.method === 'HEAD' ? { offset: 0, length: 1 } : undefined);
  const discard = () => whole.body.cancel();
  const read = async (part?: ByteRange) => {
    if (!part) return whole.body;
    await discard();
    return (await get({ offset: part.first, length: part.last - part.first + 1 })).body;
  };
  return { sizeBytes: whole.size, etag: whole.httpEtag, read, discard };
};

/** Opens the raw message of a draft that was written in the app, which is composed. */
export const openDraft = (c: Context<JsonApiEnv>, userId: string, draftId: string) => async (): Promise<OpenBytes> => {
  const found = await openMailbox(c.env, userId).readDraft(draftId);
  if (!found.ok) throw new ProblemError(NOT_FOUND, found.error);
  const draft = found.value;
  const composed = await composeDraft(draft);
  const etag = `"${createHash('sha256').update(`${draft.messageId}.${draft.revision}`).digest('hex').slice(0, 32)}"`;
  const read = async (part?: ByteRange) => {
    const bytes = await readPieces(streamDraft(c.env, draft, composed));
    return new Blob([
      bytes.subarray(part?.first ?? 0, part ? part.last + 1 : undefined) as Uint8Array<ArrayBuffer>,
    ]).stream();
  };
  return { sizeBytes: composed.sizeBytes, etag, read, discard: async () => {} };
};

/** Opens an attachment. Its ETag is made from the place where the bytes are, because the bytes at a place never change. */
export const openAttachment =
  (c: Context<JsonApiEnv>, rawKey: string | null, file: AttachmentPlace) => async (): Promise<OpenBytes> => {
    const place = JSON.stringify([file.r2Key ?? rawKey, file.range]);
    return {
      sizeBytes: file.sizeBytes,
      etag: `"${createHash('sha256').update(place).digest('hex').slice(0, 32)}"`,
      async read(part) {
        const pieces = await readAttachment(c.env, rawKey, file, part);
        const length = part ? part.last - part.first + 1 : file.sizeBytes;
        const { readable, writable } = new FixedLengthStream(length);
        c.executionCtx.waitUntil(pump(pieces, writable.getWriter()));
        return readable;
      },
      discard: async () => {},
    };
  };

/** Writes all pieces to a writer. Ends early if the reader cancels. */
export async function pump(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  try {
    for await (const piece of source) await writer.write(piece);
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
  }
}

export async function serveStoredBytes(c: Context<JsonApiEnv>, stored: StoredBytes): Promise<Response> {
  const request = c.req.raw;
  const headers = new Headers({
    'content-type': /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(stored.contentType)
      ? stored.contentType
      : 'application/octet-stream',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, max-age=0, must-revalidate',
    'accept-ranges': 'bytes',
    'content-disposition': toDisposition(stored),
  });
  const { sizeBytes, etag, read, discard } = await stored.open();
  headers.set('etag', etag);
  if (request.headers.get('if-none-match') === etag) {
    await discard();
    return new Response(null, { status: 304, headers });
  }
  // A date in If-Range never matches, because no Last-Modified is sent.
  const isHeld = doesIfRangeHold(request.headers.get('if-range'), etag, Number.NaN);
  const decision = decideRange(isHeld ? request.headers.get('range') : null, sizeBytes);
  if (decision.kind === 'unsatisfiable') {
    await discard();
    const refusal = sendProblem(c, problem(416, 'range_not_satisfiable', `The resource has ${sizeBytes} bytes.`));
    refusal.headers.set('content-range', `bytes */${sizeBytes}`);
    return refusal;
  }
  const isHead = request.method === 'HEAD';
  if (isHead) await discard();
  if (decision.kind === 'whole' || isHead) {
    headers.set('content-length', String(sizeBytes));
    return new Response(isHead ? null : await read(), { status: 200, headers, encodeBody: 'manual' });
  }
  const { first, last } = decision.range;
  headers.set('content-range', toContentRange(decision.range, sizeBytes));
  headers.set('content-length', String(last - first + 1));
  return new Response(await read(decision.range), { status: 206, headers, encodeBody: 'manual' });
}

/** Formats Content-Disposition (RFC 6266): an ASCII name as fallback, and the name in UTF-8. */
function toDisposition({ fileName, contentType }: Pick<StoredBytes, 'fileName' | 'contentType'>): string {
  const kind = RASTER_IMAGES.test(contentType) ? 'inline' : 'attachment';
  const ascii = fileName.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
