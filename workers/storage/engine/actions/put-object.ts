/** Puts an object: writes its bytes, compares them with what the client declared, and commits its version. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { removeBlobs } from '../blobs/locations.ts';
import { type WrittenBody, writeBody } from '../blobs/write-body.ts';
import type { EngineContext } from '../model/context.ts';
import type { ObjectMetadata, Proven, PutError, PutRequest, Verdict, VersionFacts } from '../model/contract.ts';
import type { CommitData } from '../store/commit-store.ts';
import { toLockRow } from '../store/version-sql.ts';
import { type CommitError, commitVersion, toAttributeFacts } from './commit.ts';

/** Stores an object. Nothing is visible before the commit, which is one batch of one database. */
export async function putObject<E>(
  context: EngineContext,
  request: PutRequest<E>,
): Promise<Proven<VersionFacts, PutError<E>>> {
  const objectId = crypto.randomUUID();
  const versionId = context.memory.mint.mint(context.now());
  const written = await writeBody(context, {
    body: request.body,
    size: request.size,
    checksums: request.checksums ?? [],
    mayBeInline: true,
    describe: (index) => describeObject(request, objectId, versionId, index),
  });
  if (!written.ok) return written;
  const { digests } = written.value;
  const verdict: Result<Verdict, E> = request.verify ? await request.verify(digests) : ok({});
  if (!verdict.ok) {
    discardBody(context, written.value);
    return err({ kind: 'refused', error: verdict.error });
  }
  const { bucket, name, condition, renew } = request;
  const committed = await commitVersion(context, {
    bucket,
    name,
    facts: {
      isMarker: false,
      objectId,
      size: digests.size,
      etag: verdict.value.etag ?? digests.md5,
      sha256: digests.sha256,
      checksums: verdict.value.checksums ?? {},
      checksumType: verdict.value.checksums ? 'FULL_OBJECT' : null,
      partCount: null,
      ...toAttributeFacts(request),
    },
    // An inline object has no blob with a version id, so its version gets the time of the commit.
    ...(written.value.blobs.length > 0 ? { versionId } : {}),
    data: toCommitData(written.value),
    event: request.event ?? 'ObjectCreated:Put',
    condition,
    renew,
  });
  if (committed.ok) return committed;
  // If the outcome of the commit is unknown, the blobs stay. The orphan collector decides about them once the database answers
  // again.
  if (committed.error.kind !== 'unavailable') discardBody(context, written.value);
  return { ...committed, error: toPutError(committed.error) };
}

/** Maximum size of a blob's description. R2 allows 8,192 bytes of custom metadata per object. */
const DESCRIPTION_BYTES_MAX = 7_000;

/** Describes an object in the custom metadata of its blob. The object is recovered from it if the databases are lost. */
export function describeObject(
  request: Pick<PutRequest<unknown>, 'bucket' | 'name' | 'metadata' | 'lock'>,
  objectId: string,
  versionId: string,
  index: number,
): Record<string, string> {
  const metadata = JSON.stringify(request.metadata);
  return {
    kind: 'object',
    bucket_id: request.bucket.bucketId,
    bucket: request.bucket.name,
    // Base64, because R2's custom metadata is ASCII.
    name: Buffer.from(request.name).toString('base64url'),
    object_id: objectId,
    // The version id that the commit tries first. In rare cases the commit has to mint another one.
    version_id: versionId,
    is_null: request.bucket.versioning === 'enabled' ? '0' : '1',
    index: String(index),
    ...(request.lock ? { lock: JSON.stringify(toLockRow(request.lock)) } : {}),
    metadata: Buffer.from(
      metadata.length * 1.4 < DESCRIPTION_BYTES_MAX - 2_000 ? metadata : toShortMetadata(request.metadata),
    ).toString('base64url'),
  };
}

/** Metadata without headers that clients chose: without the record of its key, an encrypted object could not be read again. */
const toShortMetadata = ({ ownerId, extra }: ObjectMetadata): string =>
  JSON.stringify({ headers: {}, user: {}, ownerId, ...(extra ? { extra } : {}) });

export function toPutError<E>(error: CommitError<E>): PutError<E> {
  if (error.kind === 'source_gone' || error.kind === 'lost') {
    return {
      kind: 'unavailable',
      reason: `the commit was refused: ${error.kind === 'lost' ? error.reason : error.kind}`,
    };
  }
  return error;
}

export function discardBody(context: EngineContext, body: WrittenBody): void {
  const blobIds = body.blobs.map((blob) => blob.blobId);
  if (blobIds.length > 0) context.waitUntil(removeBlobs(context, blobIds));
}

function toCommitData(body: WrittenBody): CommitData {
  if (body.blobs.length > 0) return { kind: 'blobs', blobs: body.blobs };
  if (body.inline === null || body.inline.length === 0) return { kind: 'none' };
  const { buffer, byteOffset, byteLength } = body.inline;
  const data = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
  return { kind: 'inline', data, crc32: body.digests.crc32Value };
}
