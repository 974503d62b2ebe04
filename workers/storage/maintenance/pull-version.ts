/**
 * Pulls one version or delete marker from another S3 server and writes it on top of its name, if the name's newest version is still the
 * expected one.
 *
 * Bytes are compared with the source's ETag, or with its checksums, before anything is committed. An object that was uploaded in parts is
 * pulled in the same parts, so that it gets the same ETag. The version's own id and time are those of the pull, because versions of a name
 * only grow; the source's are kept in its metadata.
 */
import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm, toChecksumHeader } from '../domain/checksums.ts';
import type { JobObstacle } from '../domain/jobs.ts';
import { toPulledFrom } from '../domain/pulls.ts';
import { deleteObjects } from '../engine/actions/deleting.ts';
import { listUploads } from '../engine/actions/listing.ts';
import { putObject } from '../engine/actions/put-object.ts';
import { completeUpload } from '../engine/actions/upload-completion.ts';
import { putPart } from '../engine/actions/upload-parts.ts';
import { abortUpload, createUpload, listParts } from '../engine/actions/uploads.ts';
import type { BodyDigests, PartFacts, PutError, VersionAttributes } from '../engine/model/contract.ts';
import { PUT_BYTES_MAX } from '../s3/protocol/engine-failures.ts';
import { mayDelete } from './job-rights.ts';
import { type JobFailure, toFailure } from './job-scene.ts';
import { type Described, describe, type PullTask } from './pull-attributes.ts';
import { SourceUnavailable } from './pull-source.ts';

/** Bodies up to this size are read whole before they are written, so that a pull holds one connection. */
const WHOLE_BYTES_MAX = 1024 ** 2;
const PARTS_MAX = 10_000;

export type PullOutcome =
  | { readonly kind: 'written'; readonly versionId: string; readonly lacks: readonly JobObstacle[] }
  | { readonly kind: 'refused'; readonly reason: JobObstacle }
  /** The newest version of the name is another one by now. */
  | { readonly kind: 'moved' }
  /** Time is over; what has been pulled of the version is kept. */
  | { readonly kind: 'paused' }
  | { readonly kind: 'failed'; readonly failure: JobFailure };

const refused = (reason: JobObstacle): PullOutcome => ({ kind: 'refused', reason });

export async function pullVersion(task: PullTask): Promise<PullOutcome> {
  return task.version.isMarker ? await pullMarker(task) : await pullObject(task);
}

async function pullMarker({ scene, version, name, newest }: PullTask): Promise<PullOutcome> {
  const { context, bucket, rights } = scene;
  if (!mayDelete(rights, bucket, name, false)) return refused('denied');
  const item = { name, condition: { newest }, markerExtra: { pulled: toPulledFrom(version) } };
  const [outcome] = await deleteObjects(context, bucket, [item]);
  if (outcome?.ok) return { kind: 'written', versionId: outcome.value.versionId ?? '', lacks: [] };
  const error = outcome?.error ?? { kind: 'unavailable' as const, reason: 'a delete gave no outcome' };
  if (error.kind === 'precondition_failed' || error.kind === 'no_such_key') return { kind: 'moved' };
  if (error.kind === 'object_locked') return refused('locked');
  return { kind: 'failed', failure: toFailure(error) };
}

async function pullObject(task: PullTask): Promise<PullOutcome> {
  const { source, version } = task;
  if (!isReadableKey(version.key)) return refused('unreadable');
  // A small body is read before anything else is requested, so that no transfer waits for another one while it holds a connection.
  return version.size > WHOLE_BYTES_MAX ? await source.alone(() => transfer(task)) : await transfer(task);
}

async function transfer(task: PullTask): Promise<PullOutcome> {
  const { source, version } = task;
  const parts = Number(/-(\d+)$/.exec(version.etag)?.[1] ?? 0);
  const { answer, headers } = await source.open(version, parts > 1 ? { part: 1 } : {});
  const obstacle = findObstacle(task, answer, parts);
  if (obstacle !== null) {
    await answer.body?.cancel();
    return refused(obstacle);
  }
  const length = Number(answer.headers.get('content-length') ?? version.size);
  const bytes = length <= WHOLE_BYTES_MAX ? await source.bytes(answer, WHOLE_BYTES_MAX) : null;
  const described = await describe(task, headers);
  if (!described.ok) {
    if (bytes === null) await answer.body?.cancel();
    return refused(described.error);
  }
  const first: Transfer = { answer, size: length, body: bytes ?? source.body(version, answer, length, parts > 1) };
  return parts > 1 && length < version.size
    ? await pullParts(task, described.value, first, parts)
    : await pullWhole(task, described.value, first);
}

/** A body that is being read from the source. */
interface Transfer {
  readonly answer: Response;
  /** Size in bytes that the answer declares. */
  readonly size: number;
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

/** URLs have no segments `.` and `..`, so a client cannot name such keys. */
const isReadableKey = (key: string): boolean => !key.split('/').some((segment) => segment === '.' || segment === '..');

function findObstacle({ version }: PullTask, answer: Response, parts: number): JobObstacle | null {
  if (answer.status === 401 || answer.status === 403) return 'source_denied';
  if (answer.status === 404 || answer.status === 412) return 'changed';
  if (!answer.ok || parts > PARTS_MAX) return 'unreadable';
  if ((answer.headers.get('etag') ?? '').replaceAll('"', '') !== version.etag) return 'changed';
  return parts <= 1 && version.size > PUT_BYTES_MAX ? 'too_large' : null;
}

/** The checksums of the whole object that an answer declares. */
function checksumsOf(answer: Response): Partial<Record<ChecksumAlgorithm, string>> {
  const found: Partial<Record<ChecksumAlgorithm, string>> = {};
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const value = answer.headers.get(toChecksumHeader(algorithm));
    if (value !== null && !value.includes('-')) found[algorithm] = value;
  }
  return answer.headers.get('x-amz-checksum-type') === 'COMPOSITE' ? {} : found;
}

const MD5 = /^[0-9a-f]{32}$/;

async function pullWhole(
  task: PullTask,
  { attributes, lacks }: Described,
  { answer, body }: Transfer,
): Promise<PullOutcome> {
  const { scene, version, name, newest } = task;
  const declared = checksumsOf(answer);
  const algorithms = Object.keys(declared) as ChecksumAlgorithm[];
  const encryption = answer.headers.get('x-amz-server-side-encryption') ?? 'AES256';
  let isVerified = false;
  const verify = (digests: BodyDigests) => {
    const isEqual = (algorithm: ChecksumAlgorithm) => digests.checksums[algorithm] === declared[algorithm];
    if (!algorithms.every(isEqual)) return err('damaged' as const);
    if (digests.md5 === version.etag || algorithms.length > 0) isVerified = true;
    // With AES256 and without parts, an ETag is the MD5 of the bytes.
    else if (MD5.test(version.etag) && encryption === 'AES256') return err('damaged' as const);
    return ok({ etag: version.etag, checksums: declared });
  };
  const put = await putObject(scene.context, {
    bucket: scene.bucket,
    name,
    body,
    size: version.size,
    checksums: algorithms,
    verify,
    condition: { newest },
    ...attributes,
  });
  if (!put.ok) return toOutcome(put.error);
  return { kind: 'written', versionId: put.value.versionId, lacks: isVerified ? lacks : [...lacks, 'unverified'] };
}

function toOutcome(error: PutError<'damaged'>): PullOutcome {
  switch (error.kind) {
    case 'precondition_failed':
    case 'no_such_key':
      return { kind: 'moved' };
    case 'refused':
      return refused(error.error);
    // A small body was read whole, so a wrong length is that of the object.
    case 'body_incomplete':
      return refused('damaged');
    case 'body_failed':
      throw new SourceUnavailable(String(error.cause));
    default:
      return { kind: 'failed', failure: toFailure(error) };
  }
}

/** Pulls an object in the parts in which it was uploaded. Parts that an earlier step pulled are kept. */
async function pullParts(
  task: PullTask,
  { attributes, lacks }: Described,
  first: Transfer,
  count: number,
): Promise<PullOutcome> {
  const { scene, version, name, newest, until } = task;
  const { context, bucket } = scene;
  const upload = await findUpload(task, attributes);
  if (!upload.ok) {
    await drop(first);
    return { kind: 'failed', failure: upload.error };
  }
  const { uploadId, parts } = upload.value;
  if (parts.has(1)) await drop(first);
  for (let partNumber = 1; partNumber <= count; partNumber++) {
    if (parts.has(partNumber)) continue;
    const opened = partNumber === 1 ? first : await openPart(task, partNumber);
    if (opened === null) return refused('unreadable');
    const { body, size } = opened;
    const put = await putPart<'damaged'>(context, { bucket, name, uploadId, partNumber, body, size });
    if (!put.ok) return put.error.kind === 'no_such_upload' ? { kind: 'moved' } : toOutcome(put.error);
    parts.set(partNumber, put.value);
    if (Date.now() > until && partNumber < count) return { kind: 'paused' };
  }
  const chosen = [...parts.values()].sort((a, b) => a.partNumber - b.partNumber);
  if (etagOf(chosen) !== version.etag) {
    await abortUpload(context, bucket, name, uploadId);
    return refused('damaged');
  }
  const completion = { bucket, name, uploadId, parts: chosen, partBytesMin: 0, condition: { newest } };
  const completed = await completeUpload(context, completion);
  if (completed.ok) return { kind: 'written', versionId: completed.value.versionId, lacks };
  const { error } = completed;
  switch (error.kind) {
    case 'precondition_failed':
    case 'no_such_key':
    case 'no_such_upload':
      return { kind: 'moved' };
    case 'unavailable':
    case 'no_such_bucket':
    case 'quota_exceeded':
      return { kind: 'failed', failure: toFailure(error) };
    default:
      return refused('damaged');
  }
}

/** Ends a transfer whose bytes are not needed, so that it holds no connection. */
async function drop({ body }: Transfer): Promise<void> {
  if (body instanceof ReadableStream) await body.cancel();
}

async function openPart({ source, version }: PullTask, part: number): Promise<Transfer | null> {
  const { answer } = await source.open(version, { part });
  const size = Number(answer.headers.get('content-length'));
  if (!answer.ok || size > PUT_BYTES_MAX) {
    await answer.body?.cancel();
    return null;
  }
  const body =
    size <= WHOLE_BYTES_MAX ? await source.bytes(answer, WHOLE_BYTES_MAX) : source.body(version, answer, size, true);
  return { answer, size, body };
}

function etagOf(parts: readonly PartFacts[]): string {
  const whole = createHash('md5');
  for (const { etag } of parts) whole.update(Buffer.from(etag, 'hex'));
  return `${whole.digest('hex')}-${parts.length}`;
}

/** Finds the upload in which an earlier step pulled parts of the version, or creates it. */
async function findUpload(
  { scene: { context, bucket }, version, name }: PullTask,
  attributes: VersionAttributes,
): Promise<Result<{ readonly uploadId: string; readonly parts: Map<number, PartFacts> }, JobFailure>> {
  const mark = JSON.stringify(toPulledFrom(version));
  const open = await listUploads(context, { bucket, prefix: name, delimiter: '', from: name, limit: 100 });
  if (!open.ok) return err(toFailure(open.error));
  for (const entry of open.value.entries) {
    if (entry.kind !== 'item' || entry.item.name !== name) continue;
    const { uploadId, metadata } = entry.item;
    if (JSON.stringify(metadata.extra?.pulled) !== mark) continue;
    const listed = await listParts(context, bucket, name, uploadId, { after: 0, limit: PARTS_MAX });
    if (listed.ok) return ok({ uploadId, parts: new Map(listed.value.parts.map((part) => [part.partNumber, part])) });
    if (listed.error.kind !== 'no_such_upload') return err(toFailure(listed.error));
  }
  const created = await createUpload(context, { bucket, name, ...attributes });
  return created.ok ? ok({ uploadId: created.value.uploadId, parts: new Map() }) : err(toFailure(created.error));
}
