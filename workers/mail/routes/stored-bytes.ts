/** Serves bytes from R2 with ranges, and with headers that prevent browsers from running stored content as our page. */
import type { Context } from 'hono';
import { decideRange, doesIfRangeHold, toContentRange } from '../../shared/http-range.ts';
import { type JsonApiEnv, sendProblem } from '../../shared/json-api.ts';
import { problem } from '../../shared/problem.ts';
import { getBlob } from '../bindings/blobs.ts';

/** Displayed inline; all other types are downloaded. */
const RASTER_IMAGES = /^image\/(?:png|jpeg|gif|webp)$/i;

export interface StoredBytes {
  readonly r2Key: string;
  readonly fileName: string;
  readonly contentType: string;
}

export async function serveStoredBytes(c: Context<JsonApiEnv>, stored: StoredBytes): Promise<Response> {
  const { env } = c;
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
  const whole = await getBlob(env, stored.r2Key, request.method === 'HEAD' ? { offset: 0, length: 1 } : undefined);
  if (!whole) throw new Error(`bytes are missing in every location: ${stored.r2Key}`);
  headers.set('etag', whole.httpEtag);
  if (request.headers.get('if-none-match') === whole.httpEtag) {
    await whole.body.cancel();
    return new Response(null, { status: 304, headers });
  }
  const isHeld = doesIfRangeHold(request.headers.get('if-range'), whole.httpEtag, whole.uploaded.getTime());
  const decision = decideRange(isHeld ? request.headers.get('range') : null, whole.size);
  if (decision.kind === 'unsatisfiable') {
    await whole.body.cancel();
    const refusal = sendProblem(c, problem(416, 'range_not_satisfiable', `The resource has ${whole.size} bytes.`));
    refusal.headers.set('content-range', `bytes */${whole.size}`);
    return refusal;
  }
  if (decision.kind === 'whole' || request.method === 'HEAD') {
    headers.set('content-length', String(whole.size));
    return new Response(request.method === 'HEAD' ? null : whole.body, { status: 200, headers, encodeBody: 'manual' });
  }
  await whole.body.cancel();
  const { first, last } = decision.range;
  const part = await getBlob(env, stored.r2Key, { offset: first, length: last - first + 1 });
  if (!part) throw new Error(`bytes are missing in every location: ${stored.r2Key}`);
  headers.set('content-range', toContentRange(decision.range, whole.size));
  headers.set('content-length', String(last - first + 1));
  return new Response(part.body, { status: 206, headers, encodeBody: 'manual' });
}

/** RFC 6266: an ASCII fallback, and the name in UTF-8. */
function toDisposition({ fileName, contentType }: StoredBytes): string {
  const kind = RASTER_IMAGES.test(contentType) ? 'inline' : 'attachment';
  const ascii = fileName.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
