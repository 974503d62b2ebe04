/** Copies objects, and changes tags, ACLs and locks of versions. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { ChecksumAlgorithm } from '../../domain/checksums.ts';
import { slotOf } from '../../domain/slots.ts';
import { BodyHasher } from '../blobs/digests.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type {
  Bucket,
  Checksums,
  CopyRequest,
  LockChange,
  LockError,
  Proven,
  PutError,
  PutRequest,
  ReadError,
  StoredVersion,
  VersionFacts,
} from '../model/contract.ts';
import { runBatch } from '../store/database.ts';
import { attributeStatements, lockStatements } from '../store/version-store.ts';
import { commitVersion, toAttributeFacts } from './commit.ts';
import { hintEvents, toNewEvent } from './events.ts';
import { putObject, toPutError } from './put-object.ts';
import { readVersion } from './reading.ts';

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
): Promise<Proven<VersionFacts, PutError<never> | ReadError>> {
  const { bucket, name, source, checksum, keepsParts } = request;
  const attributes = toAttributeFacts(request);
  const target = {
    bucket,
    name,
    ...attributes,
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
      ...attributes,
    },
    data: { kind: 'reference', source },
    event: 'ObjectCreated:Copy',
    condition: request.condition,
  });
  if (committed.ok) return committed;
  const { error, proof } = committed;
  return { ok: false, error: error.kind === 'source_gone' ? { kind: 'no_such_version' } : toPutError(error), proof };
}

async function copyBytes(
  context: EngineContext,
  { source, checksum }: CopyRequest,
  target: Pick<PutRequest<never>, 'bucket' | 'name' | 'metadata' | 'tags' | 'acl' | 'lock' | 'condition'>,
): Promise<Proven<VersionFacts, PutError<never> | ReadError>> {
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
  const event = bucket === undefined ? null : toNewEvent(context, bucket, { kind, name, versionId, etag });
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
