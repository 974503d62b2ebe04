/** `Blob/get` (RFC 9404 §4.2). */
import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { readPieces } from '../../inbound/process/delivery.ts';
import { openBlob } from '../objects/blobs.ts';
import { getArguments, idSchema, uintSchema } from '../protocol/arguments.ts';
import { BLOB_BYTES_MAX } from '../protocol/limits.ts';
import { type Arguments, method } from '../protocol/method.ts';
import { findGetError, resolveId } from '../protocol/standard.ts';

const DIGESTS: Readonly<Record<string, string>> = {
  'digest:sha': 'sha1',
  'digest:sha-256': 'sha256',
  'digest:sha-512': 'sha512',
};
const KNOWN: readonly string[] = ['data', 'data:asText', 'data:asBase64', 'size', ...Object.keys(DIGESTS)];
const DEFAULT_PROPERTIES = ['data', 'size'];

export const blobGet = method({
  capability: 'blob',
  schema: z.strictObject({
    ...getArguments,
    ids: z.array(idSchema),
    offset: uintSchema.nullable().default(null),
    length: uintSchema.nullable().default(null),
  }),
  run: async (call, args) => {
    const refusal = findGetError(args, (name) => KNOWN.includes(name));
    if (refusal) return err(refusal);
    const properties = [...new Set(args.properties ?? DEFAULT_PROPERTIES)];
    const list: Arguments[] = [];
    const notFound: string[] = [];
    let left = BLOB_BYTES_MAX;
    for (const id of new Set(args.ids.map((each) => resolveId(call, each)))) {
      const blob = await openBlob(call.env, call.user.userId, id);
      if (!blob) {
        notFound.push(id);
        continue;
      }
      const isRead = properties.some((name) => name !== 'size');
      left -= isRead ? blob.sizeBytes : 0;
      if (left < 0)
        return err({ type: 'requestTooLarge', description: `At most ${BLOB_BYTES_MAX} bytes. Download larger blobs.` });
      const bytes = isRead ? await readPieces(await blob.read()) : new Uint8Array();
      const answer = { id, ...toAnswer(bytes, blob.sizeBytes, properties, args) };
      call.parts.spendJson(answer);
      list.push(answer);
    }
    return ok({ accountId: call.accountId, list, notFound });
  },
});

function toAnswer(
  bytes: Uint8Array,
  size: number,
  properties: readonly string[],
  range: { readonly offset: number | null; readonly length: number | null },
): Arguments {
  const start = Math.min(range.offset ?? 0, size);
  const wantedEnd = range.length === null ? size : start + range.length;
  const part = bytes.subarray(start, Math.min(wantedEnd, size));
  const text = toText(part);
  const answer: Record<string, unknown> = {};
  for (const name of properties) {
    const digest = Object.hasOwn(DIGESTS, name) ? DIGESTS[name] : undefined;
    if (digest !== undefined) answer[name] = createHash(digest).update(part).digest('base64');
    else if (name === 'size') answer.size = size;
    else if (name === 'data:asBase64' || (name === 'data' && text === null))
      answer['data:asBase64'] = Buffer.from(part).toString('base64');
    else answer['data:asText'] = text;
  }
  const isTextWanted = properties.some((name) => name === 'data' || name === 'data:asText');
  if (isTextWanted && text === null) answer.isEncodingProblem = true;
  if (wantedEnd > size || (range.offset ?? 0) > size) answer.isTruncated = true;
  return answer;
}

function toText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
