/** Puts and copies objects, and changes tags, ACLs and locks of versions. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';
import { slotOf } from '../../domain/slots.ts';
import { BodyHasher } from '../blobs/digests.ts';
import { removeBlobs } from '../blobs/locations.ts';
import { type WrittenBody, writeBody } from '../blobs/write-body.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type {
  Bucket,
  Checksums,
  CopyRequest,
  LockChange,
  LockError,
  PutError,
  PutRequest,
  ReadError,
  StoredVersion,
  Verdict,
  VersionFacts,
} from '../model/contract.ts';
import { NO_LOCK } from '../model/versions.ts';
import type { CommitData } from '../store/commit-store.ts';
import { runBatch } from '../store/database.ts';
import { toLockRow } from '../store/version-sql.ts';
import { attributeStatements, lockStatements } from '../store/version-store.ts';
import { type CommitError, commitVersion, toAttributeFacts } from './commit.ts';
import { hintEvents, toNewEvent } from './events.ts';
import { readVersion } from './reading.ts';

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
    ...(metadata.length * 1.4 < DESCRIPTION_BYTES_MAX - 2_000
      ? { metadata: Buffer.from(metadata).toString('base64url') }
      : {}),
  };
}

export async function putObject<E>(
  context: EngineContext,
  request: PutRequest<E>,
): Promise<Result<VersionFacts, PutError<E>>> {
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
  const committed = await commitVersion(context, {
    bucket: request.bucket,
    name: request.name,
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
    condition: request.condition,
    ...(request.renew ? { renew: request.renew } : {}),
  });
  if (committed.ok) return committed;
  // If the outcome of the commit is unknown, the blobs stay. The orphan collector decides about them once the database answers
  // again.
  if (committed.error.kind !== 'unavailable') discardBody(context, written.value);
  return err(toPutError(committed.error));
}

function toPutError<E>(error: CommitError<E>): PutError<E> {
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

/**
 * Copies an object. Within a shard the copy refers to the same extents; between shards the bytes are read and written.
 *
 * A copy is one object: its ETag is an MD5 and its checksum covers the whole object, as in S3 (CopyObject). If the source was
 * uploaded in parts or lacks the checksum, its bytes are read once, in a stream. That takes R2 reads and the CPU time of an upload
 * of the same size; at most 5 GB, the limit of CopyObject. With `keepsParts` the copy keeps the source's parts, ETag and checksums.
 */
export async function copyObject(
  context: EngineContext,
  request: CopyRequest,
): Promise<Result<VersionFacts, PutError<never> | ReadError>> {
  const { bucket, name, source, checksum, metadata, tags, acl, lock = NO_LOCK, keepsParts } = request;
  const target = {
    bucket,
    name,
    metadata,
    tags,
    acl,
    lock,
    ...(request.condition ? { condition: request.condition } : {}),
  };
  const shard = bucket.placement.shards[slotOf(name)];
  if (shard !== source.handle.shard) return await copyBytes(context, request, target);
  // The commit copies inline bytes inside the database. This read compares them first, and repairs damaged ones in their row.
  const read = source.handle.inline === null ? ok(null) : await readVersion(context, source);
  if (!read.ok) return read;
  const described = keepsParts ? ok(source) : await describeWhole(context, source, checksum);
  if (!described.ok) return described;
  const { etag, sha256, checksums, checksumType } = described.value;
  const committed = await commitVersion(context, {
    bucket,
    name,
    facts: {
      isMarker: false,
      objectId: crypto.randomUUID(),
      size: source.size,
      etag,
      sha256,
      checksums,
      checksumType,
      partCount: keepsParts ? source.partCount : null,
      metadata,
      tags,
      acl,
      lock,
    },
    data: { kind: 'reference', source },
    event: 'ObjectCreated:Copy',
    condition: request.condition,
  });
  if (committed.ok) return committed;
  if (committed.error.kind === 'source_gone') return err({ kind: 'no_such_version' });
  return err(toPutError(committed.error));
}

async function copyBytes(
  context: EngineContext,
  { source, checksum }: CopyRequest,
  target: Pick<PutRequest<never>, 'bucket' | 'name' | 'metadata' | 'tags' | 'acl' | 'lock' | 'condition'>,
): Promise<Result<VersionFacts, PutError<never> | ReadError>> {
  const body = await readVersion(context, source);
  if (!body.ok) return body;
  const algorithms = algorithmsOfCopy(source, checksum);
  return await putObject<never>(context, {
    ...target,
    event: 'ObjectCreated:Copy',
    body: body.value,
    size: source.size,
    checksums: algorithms,
    verify: (digests) => ok({ checksums: pick(digests.checksums, algorithms) }),
  });
}

/** Checksum algorithms of a copy: those of the source, unless the request asks for another one. */
const algorithmsOfCopy = (source: StoredVersion, requested: ChecksumAlgorithm | undefined): ChecksumAlgorithm[] =>
  requested === undefined || source.checksums[requested] !== undefined
    ? (Object.keys(source.checksums) as ChecksumAlgorithm[])
    : [requested];

const pick = (checksums: Checksums, algorithms: readonly ChecksumAlgorithm[]): Checksums =>
  Object.fromEntries(Object.entries(checksums).filter(([name]) => algorithms.includes(name as ChecksumAlgorithm)));

type WholeFacts = Pick<VersionFacts, 'etag' | 'sha256' | 'checksums' | 'checksumType'>;

/** Digests of a copy's source as one object. Its bytes are read only if the digests are not stored. */
async function describeWhole(
  context: EngineContext,
  source: StoredVersion,
  requested: ChecksumAlgorithm | undefined,
): Promise<Result<WholeFacts, ReadError>> {
  const { etag, sha256, checksums, checksumType, partCount, size } = source;
  const algorithms = algorithmsOfCopy(source, requested);
  if (partCount === null && checksumType !== 'COMPOSITE' && algorithms.every((name) => checksums[name] !== undefined)) {
    return ok({ etag, sha256, checksums, checksumType });
  }
  const digests = await digestOf(context, source, { start: 0, end: size - 1 }, algorithms);
  if (!digests.ok) return digests;
  return ok({
    etag: digests.value.md5,
    sha256: digests.value.sha256,
    checksums: pick(digests.value.checksums, algorithms),
    checksumType: algorithms.length === 0 ? null : 'FULL_OBJECT',
  });
}

/** Reads a range of a version and computes all digests of it. */
export async function digestOf(
  context: EngineContext,
  source: StoredVersion,
  range: { readonly start: number; readonly end: number },
  algorithms: readonly ChecksumAlgorithm[],
): Promise<Result<ReturnType<BodyHasher['digest']>, ReadError>> {
  const body = await readVersion(context, source, range);
  if (!body.ok) return body;
  const hasher = new BodyHasher(algorithms, false);
  if (body.value instanceof Uint8Array) hasher.update(body.value);
  else {
    try {
      for await (const chunk of body.value) hasher.update(chunk);
    } catch {
      return err({ kind: 'data_lost' });
    }
  }
  return ok(hasher.digest());
}

/**
 * Replaces tags, ACL or take-down, the only attributes of a version that change in place. The statement is never repeated after a
 * lost answer, because the row cannot recognise a late first try. It could arrive after the repeat and after the next change, and
 * undo that change.
 */
export async function setAttribute(
  context: EngineContext,
  version: StoredVersion,
  attribute: 'tags' | 'acl' | 'taken_down',
  value: string | null,
  bucket?: Bucket,
): Promise<Result<null, ReadError>> {
  const { shard } = version.handle;
  const database = databaseOf(context, shard);
  const kind = attribute === 'acl' ? 'ObjectAcl:Put' : value === null ? 'ObjectTagging:Delete' : 'ObjectTagging:Put';
  const { name, versionId, etag } = version;
  const event = bucket === undefined ? null : toNewEvent(context, bucket, kind, name, { versionId, etag });
  const statements = attributeStatements(database, version, attribute, value, event);
  const answer = await runBatch(context, database, statements);
  if (!answer.ok) return err({ kind: 'unavailable', reason: answer.error.reason });
  if (event !== null) hintEvents(context, shard);
  return answer.value.at(-1)?.meta.changes === 0 ? err({ kind: 'no_such_version' }) : ok(null);
}

/** Changes retention or legal hold of a version. Never repeated after a lost answer, for the reason given at `setAttribute`. */
export async function setLock(
  context: EngineContext,
  version: StoredVersion,
  change: LockChange,
): Promise<Result<null, ReadError | LockError>> {
  const database = databaseOf(context, version.handle.shard);
  const answer = await runBatch(context, database, lockStatements(database, version, change, context.now()));
  if (answer.ok) return answer.value.at(-1)?.meta.changes === 0 ? err({ kind: 'no_such_version' }) : ok(null);
  if (answer.error.reason === 'object_locked') return err({ kind: 'object_locked' });
  return err({ kind: 'unavailable', reason: answer.error.reason });
}
