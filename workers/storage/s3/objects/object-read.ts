/** The common part of GetObject and HeadObject: conditions, ranges, parts and headers. Only the body differs. */
import { decideRange, doesIfRangeHold, toContentRange } from '../../../shared/pure/http-range.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { decideRead, readConditionsFrom } from '../../domain/conditions.ts';
import type { CustomerKey } from '../../domain/customer-key.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { ByteRange, StoredVersion } from '../../engine/model/contract.ts';
import { PART_NUMBER_MAX, toS3Error } from '../protocol/engine-failures.ts';
import type { VersionContext } from '../protocol/operation.ts';
import { refuseEncryptionOfRead } from '../protocol/unsupported-headers.ts';
import { checkReadKey } from './customer-keys.ts';
import { quoteEtag, toChecksumHeaders, toObjectHeaders } from './object-headers.ts';
import { addLockHeaders } from './object-lock.ts';
import { requireObject } from './object-version.ts';

export interface ObjectRead {
  readonly version: StoredVersion;
  readonly status: 200 | 206;
  readonly headers: Headers;
  /** Range of the object to return; null for the whole object. */
  readonly range: ByteRange | null;
  readonly length: number;
  /** The customer-provided key of the version; null if it has none. */
  readonly key: CustomerKey | null;
}

const OVERRIDES = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
];

export async function prepareRead(context: VersionContext): Promise<Result<ObjectRead, S3Failure>> {
  const { request, bucket, found } = context;
  const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
  if (!version.ok) return version;
  const refused = refuseEncryptionOfRead(request.headers);
  if (refused) return err(refused);
  const key = checkReadKey(version.value, request.headers);
  if (!key.ok) return key;
  const read = await decideAnswer(context, version.value, toObjectHeaders(bucket, version.value, key.value));
  return read.ok ? ok({ ...read.value, key: key.value }) : read;
}

type Decided = Omit<ObjectRead, 'key'>;

/** Decides what of a version is returned. @param headers headers of the version, to which those of the answer are added. */
async function decideAnswer(
  context: VersionContext,
  version: StoredVersion,
  headers: Headers,
): Promise<Result<Decided, S3Failure>> {
  const { request } = context;
  const { etag, modifiedAt, size } = version;
  addLockHeaders(context, version, headers);
  const decision = decideRead(readConditionsFrom(request.headers), { etag, lastModifiedMs: modifiedAt });
  if (decision === 'precondition_failed') return err(s3Failure('PreconditionFailed'));
  if (decision === 'not_modified') return err(notModified(headers));
  const overridden = overrideHeaders(context, headers);
  if (!overridden.ok) return overridden;
  if (request.query.has('partNumber')) return preparePart(context, version, headers);
  const wanted = doesIfRangeHold(request.headers.get('if-range'), quoteEtag(etag), modifiedAt)
    ? request.headers.get('range')
    : null;
  const range = decideRange(wanted, size);
  if (range.kind === 'unsatisfiable') {
    return err(
      s3Failure('InvalidRange', undefined, {
        headers: { 'content-range': `bytes */${size}` },
        details: { RangeRequested: wanted ?? '', ActualObjectSize: String(size) },
      }),
    );
  }
  if (range.kind === 'part') {
    const { first, last } = range.range;
    headers.set('content-range', toContentRange(range.range, size));
    return ok({
      version,
      status: 206,
      headers,
      range: { start: first, end: last },
      length: last - first + 1,
    });
  }
  if (wantsChecksums(context)) {
    const { checksums, checksumType } = version;
    for (const [name, value] of Object.entries(toChecksumHeaders(checksums, checksumType))) headers.set(name, value);
  }
  return ok({ version, status: 200, headers, range: null, length: size });
}

const wantsChecksums = ({ request }: VersionContext): boolean =>
  request.headers.get('x-amz-checksum-mode')?.toUpperCase() === 'ENABLED';

export function mayList(context: VersionContext): boolean {
  return context.may({
    action: context.request.query.has('versionId') ? 'ListBucketVersions' : 'ListBucket',
    key: null,
    acl: { of: 'bucket', permission: 'READ' },
    bucket: context.bucket,
    caller: context.caller,
    // The condition key is the object's name: callers that may list its folder may learn that the object is missing.
    context: { 's3:prefix': context.request.key },
  });
}

function notModified(headers: Headers): S3Failure {
  const kept: Record<string, string> = {};
  // A 304 has the caching headers that a 200 would have (RFC 9110 §15.4.5).
  for (const name of ['etag', 'last-modified', 'cache-control', 'expires', 'x-amz-version-id', 'x-object-version']) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value;
  }
  return s3Failure('NotModified', undefined, { headers: kept });
}

/** Applies parameters such as `response-content-type=…`, which override stored headers. Only signed requests may use them. */
function overrideHeaders({ request, caller }: VersionContext, headers: Headers): Result<null, S3Failure> {
  for (const name of OVERRIDES) {
    const value = request.query.get(`response-${name}`);
    if (value === undefined) continue;
    if (caller.principal === null) {
      return err(
        s3Failure('InvalidRequest', 'Request specific response headers cannot be used for anonymous GET requests.'),
      );
    }
    if (/[\r\n\0]/.test(value)) return err(invalidArgument(`response-${name}`, value));
    headers.set(name, value);
  }
  return ok(null);
}

async function preparePart(
  context: VersionContext,
  version: StoredVersion,
  headers: Headers,
): Promise<Result<Decided, S3Failure>> {
  const { request, engine } = context;
  const text = request.query.get('partNumber') ?? '';
  const partNumber = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (partNumber < 1 || partNumber > PART_NUMBER_MAX) {
    return err(invalidArgument('partNumber', text, 'Part number must be an integer between 1 and 10000, inclusive'));
  }
  if (request.headers.get('range') !== null) {
    return err(s3Failure('InvalidRequest', 'Cannot specify both Range header and partNumber query parameter'));
  }
  const part = await engine.findPart(version, partNumber);
  if (!part.ok) return err(toS3Error(part.error));
  if (part.value === null) {
    return err(
      s3Failure('InvalidPartNumber', undefined, {
        details: { ActualPartCount: String(version.partCount ?? 1), PartNumberRequested: text },
      }),
    );
  }
  const { start, end, partCount } = part.value;
  if (version.partCount !== null) headers.set('x-amz-mp-parts-count', String(partCount));
  if (wantsChecksums(context)) await addPartChecksums(context, version, partNumber, headers);
  if (version.size === 0) return ok({ version, status: 200, headers, range: null, length: 0 });
  headers.set('content-range', toContentRange({ first: start, last: end }, version.size));
  return ok({ version, status: 206, headers, range: { start, end }, length: end - start + 1 });
}

/** Adds the checksums of a part to the headers. If an object was not uploaded in parts, part 1 has the checksum of the object. */
async function addPartChecksums(
  { engine }: VersionContext,
  version: StoredVersion,
  partNumber: number,
  headers: Headers,
): Promise<void> {
  const listed =
    version.partCount === null ? null : await engine.listObjectParts(version, { after: partNumber - 1, limit: 1 });
  const checksums = listed === null ? version.checksums : listed.ok ? (listed.value.parts[0]?.checksums ?? {}) : {};
  for (const [name, value] of Object.entries(toChecksumHeaders(checksums, version.checksumType))) {
    headers.set(name, value);
  }
}
