/** Routes for uploading and downloading blobs (RFC 8620 §6.1, §6.2). */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireMailClient } from '../../../identity/index.ts';
import {
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  rawBody,
  sendProblem,
  unchecked,
} from '../../../shared/json/json-api.ts';
import { readLimited, readUpload } from '../../../shared/json/limited-body.ts';
import { problem } from '../../../shared/json/problem.ts';
import { pump } from '../../routes/stored-bytes.ts';
import { NOT_FOUND } from '../../schemas/errors.ts';
import { toUploadBlobId } from '../domain/blob-id.ts';
import { openBlob } from '../objects/blobs.ts';
import { storeUpload, toMediaType } from '../objects/uploads.ts';
import { CONCURRENT_UPLOADS, HELD_UPLOAD_BYTES_MAX, UPLOAD_BYTES_MAX } from '../protocol/limits.ts';
import { tooManyAtOnce, toRequestErrorResponse } from '../protocol/request.ts';
import { RunningRequests } from '../protocol/running-requests.ts';
import { JMAP_ROUTE } from './jmap-route.ts';

const uploadAnswerSchema = z
  .object({ accountId: z.string(), blobId: z.string(), type: z.string(), size: z.int() })
  .openapi('JmapUpload');
const running = new RunningRequests(CONCURRENT_UPLOADS);
/** Downloads may be cached for ever: the bytes at a URL never change. */
const CACHE_CONTROL = 'private, immutable, max-age=31536000';

export function addBlobRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...JMAP_ROUTE,
      method: 'post',
      path: '/v1/jmap/upload/{account_id}',
      operationId: 'uploadJmapBlob',
      summary: 'JMAP: upload a file; the body is its raw bytes',
      request: { ...rawBody('*/*'), params: z.object({ account_id: z.string().max(255) }) },
      responses: {
        // RFC 8620 §6.1 names no status. go-jmap, the library of aerc, takes only 200.
        200: jsonContent(uploadAnswerSchema, 'The blob'),
        ...problemResponses(400, 401, 403, 404, 409, 411, 413, 503),
      },
    }),
    async (c) => {
      const caller = await requireMailClient(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      if (c.req.valid('param').account_id !== caller.value.userId) return sendProblem(c, NOT_FOUND);
      const turn = running.begin(caller.value.userId);
      if (!turn) return unchecked(toRequestErrorResponse(tooManyAtOnce('maxConcurrentUpload')));
      try {
        const body = await openBody(c.req.raw, c.req.header('content-length'));
        if (body === null) {
          const detail = `An upload of more than ${HELD_UPLOAD_BYTES_MAX} bytes needs a Content-Length.`;
          return sendProblem(c, problem(411, 'length_required', detail));
        }
        if (body.sizeBytes > UPLOAD_BYTES_MAX) {
          const detail = `An upload has at most ${UPLOAD_BYTES_MAX} bytes.`;
          return unchecked(toRequestErrorResponse({ type: 'limit', status: 413, limit: 'maxSizeUpload', detail }));
        }
        const contentType = toMediaType(c.req.header('content-type') ?? '');
        const stored = await storeUpload(c.env, caller.value.userId, { contentType, ...body });
        if (!stored.ok) return sendProblem(c, stored.error);
        const blobId = toUploadBlobId(stored.value.attachmentId);
        return c.json({ accountId: caller.value.userId, blobId, type: contentType, size: body.sizeBytes }, 200);
      } finally {
        turn.end();
      }
    },
  );
  addDownload(api, '/v1/jmap/download/{account_id}/{blob_id}/{name}', 'downloadJmapBlob');
  // RFC 8620 §6.2 does not forbid an empty name in the template, and meli expands it so.
  addDownload(api, '/v1/jmap/download/{account_id}/{blob_id}/', 'downloadJmapBlobWithoutName');
}

/**
 * Opens the body of an upload. R2 needs the length before the bytes, so a body that is sent in chunks is held in memory and measured.
 * @returns null if a body of unknown length is too large to hold.
 */
async function openBody(
  request: Request,
  length: string | undefined,
): Promise<{ readonly sizeBytes: number; readonly source: AsyncIterable<Uint8Array> | Iterable<Uint8Array> } | null> {
  const sizeBytes = Number(length ?? Number.NaN);
  const source = readUpload(request.body as ReadableStream<Uint8Array> | null);
  if (Number.isSafeInteger(sizeBytes)) return { sizeBytes, source };
  const held = await readLimited(source, HELD_UPLOAD_BYTES_MAX);
  return held.length > HELD_UPLOAD_BYTES_MAX ? null : { sizeBytes: held.length, source: [held] };
}

const blobParams = z.object({ account_id: z.string().max(255), blob_id: z.string().max(255) });

function addDownload(api: OpenAPIHono<JsonApiEnv>, path: string, operationId: string): void {
  api.openapi(
    createRoute({
      ...JMAP_ROUTE,
      method: 'get',
      path,
      operationId,
      summary: 'JMAP: download a blob',
      request: {
        params: path.endsWith('{name}') ? blobParams.extend({ name: z.string().max(2_000) }) : blobParams,
        query: z.strictObject({ type: z.string().max(200).optional() }),
      },
      responses: {
        200: {
          description: 'The bytes, with the type that was asked for',
          content: { '*/*': { schema: { type: 'string' as const, format: 'binary' } } },
        },
        ...problemResponses(401, 403, 404, 503),
      },
    }),
    async (c) => {
      const caller = await requireMailClient(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { account_id, blob_id } = c.req.valid('param');
      const name = c.req.param('name') ?? '';
      if (account_id !== caller.value.userId) return sendProblem(c, NOT_FOUND);
      const blob = await openBlob(c.env, account_id, blob_id);
      if (!blob) return sendProblem(c, NOT_FOUND);
      const headers = {
        'content-type': toMediaType(c.req.valid('query').type ?? blob.type),
        'content-length': String(blob.sizeBytes),
        'content-disposition': name === '' ? 'attachment' : `attachment; filename*=UTF-8''${encodeName(name)}`,
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': CACHE_CONTROL,
      };
      const { readable, writable } = new FixedLengthStream(blob.sizeBytes);
      c.executionCtx.waitUntil(pump(await blob.read(), writable.getWriter()));
      return unchecked(new Response(readable, { status: 200, headers, encodeBody: 'manual' }));
    },
  );
}

/** Percent-encodes a file name (RFC 8187). */
const encodeName = (name: string): string =>
  encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
