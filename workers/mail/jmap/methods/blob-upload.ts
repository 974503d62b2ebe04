/** `Blob/upload` (RFC 9404 §4.1). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { readPieces } from '../../inbound/process/delivery.ts';
import { toUploadBlobId } from '../domain/blob-id.ts';
import { openBlob } from '../objects/blobs.ts';
import { storeUpload, toMediaType } from '../objects/uploads.ts';
import { accountArguments, creationsSchema, idSchema, uintSchema } from '../protocol/arguments.ts';
import { BLOB_BYTES_MAX, BLOB_SOURCES_MAX, OBJECTS_PER_SET_MAX } from '../protocol/limits.ts';
import { type Arguments, type Call, method, type SetError } from '../protocol/method.ts';
import { invalidProperties, resolveId, SetOutcome } from '../protocol/standard.ts';

const sourceSchema = z.union([
  z.strictObject({ 'data:asText': z.string() }),
  z.strictObject({ 'data:asBase64': z.base64() }),
  z.strictObject({ blobId: idSchema, offset: uintSchema.nullish(), length: uintSchema.nullish() }),
]);
const newBlobSchema = z.strictObject({
  data: z.array(sourceSchema).max(BLOB_SOURCES_MAX),
  type: z.string().max(200).nullish(),
});

export const blobUpload = method({
  capability: 'blob',
  schema: z.strictObject({ ...accountArguments, create: creationsSchema }),
  run: async (call, args) => {
    if (Object.keys(args.create).length > OBJECTS_PER_SET_MAX) return err({ type: 'requestTooLarge' });
    const outcome = new SetOutcome();
    for (const [creationId, object] of Object.entries(args.create)) {
      const made = await create(call, object);
      if (made.ok) {
        outcome.created[creationId] = made.value;
        call.created.set(creationId, String(made.value.id));
      } else outcome.notCreated[creationId] = made.error;
    }
    const { accountId, created, notCreated } = outcome.toAnswer(call, { oldState: '', newState: '' });
    return ok({ accountId, created, notCreated });
  },
});

async function create(call: Call, object: Arguments): Promise<Result<Arguments, SetError>> {
  const parsed = newBlobSchema.safeParse(object);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return err(invalidProperties([String(issue?.path[0] ?? '')], issue?.message));
  }
  const pieces: Uint8Array[] = [];
  for (const source of parsed.data.data) {
    const piece = await readSource(call, source);
    if (!piece.ok) return piece;
    pieces.push(piece.value);
    if (pieces.reduce((sum, each) => sum + each.length, 0) > BLOB_BYTES_MAX)
      return err({ type: 'tooLarge', description: `At most ${BLOB_BYTES_MAX} bytes.` });
  }
  const bytes = Buffer.concat(pieces);
  const contentType = toMediaType(parsed.data.type ?? '');
  const source = (async function* () {
    yield bytes;
  })();
  const stored = await storeUpload(call.env, call.user.userId, { contentType, sizeBytes: bytes.length, source });
  if (!stored.ok) return err({ type: stored.error.code === 'over_quota' ? 'overQuota' : 'serverFail' });
  return ok({ id: toUploadBlobId(stored.value.attachmentId), type: contentType, size: bytes.length });
}

async function readSource(call: Call, source: z.output<typeof sourceSchema>): Promise<Result<Uint8Array, SetError>> {
  if ('data:asText' in source) return ok(Buffer.from(source['data:asText']));
  if ('data:asBase64' in source) return ok(Buffer.from(source['data:asBase64'], 'base64'));
  const id = resolveId(call, source.blobId);
  const blob = await openBlob(call.env, call.user.userId, id);
  if (!blob) return err({ type: 'blobNotFound', notFound: [id] });
  const start = source.offset ?? 0;
  const end = source.length == null ? blob.sizeBytes : start + source.length;
  if (end > blob.sizeBytes || start > end) return err(invalidProperties(['data'], 'The range is not in the blob.'));
  if (blob.sizeBytes > BLOB_BYTES_MAX) return err({ type: 'tooLarge' });
  return ok((await readPieces(await blob.read())).subarray(start, end));
}
