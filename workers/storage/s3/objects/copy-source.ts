/**
 * Finds the source of CopyObject and UploadPartCopy, which a header names, authorises its read, and checks the conditions on it.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { decodeUri } from '../../../shared/pure/uri-encoding.ts';
import { decideRead, readConditionsFrom } from '../../domain/conditions.ts';
import type { CustomerKey } from '../../domain/customer-key.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import { checkKey } from '../../domain/naming.ts';
import type { Bucket, StoredVersion } from '../../engine/model/contract.ts';
import { needsProof } from '../../engine/model/proof.ts';
import { isTakenDown } from '../access/bucket-configuration.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import type { BucketContext } from '../protocol/operation.ts';
import { checkReadKey } from './customer-keys.ts';
import { parseVersionId, requireObject } from './object-version.ts';

export interface CopySource {
  readonly bucket: Bucket;
  readonly version: StoredVersion;
  /** Id of the source's version that the request names; undefined if it names none. */
  readonly versionId: string | undefined;
  /** The customer-provided key of the version; null if it has none. */
  readonly key: CustomerKey | null;
}

interface SourceName {
  readonly bucket: string;
  readonly key: string;
  readonly versionId: string | undefined;
}

/** Parses `x-amz-copy-source`, which has the form `[/]bucket/key[?versionId=…]`, percent-encoded. */
export function parseCopySource(header: string): Result<SourceName, S3Failure> {
  const wrong = (message: string) => err(invalidArgument('x-amz-copy-source', header, message));
  const query = /\?versionId=([^&]*)$/.exec(header);
  const path = decodeUri((query ? header.slice(0, query.index) : header).replace(/^(\/|%2F)/i, ''));
  if (path === null) return wrong('Invalid copy source encoding.');
  const slash = path.indexOf('/');
  if (slash < 1 || slash === path.length - 1) return wrong('Invalid copy source object key');
  const versionId = parseVersionId(query?.[1] === undefined ? undefined : (decodeUri(query[1]) ?? ''));
  if (!versionId.ok) return versionId;
  const key = path.slice(slash + 1);
  const checked = checkKey(key);
  if (!checked.ok) return checked;
  return ok({ bucket: path.slice(0, slash), key, versionId: versionId.value });
}

/**
 * Loads the source. If the source is in the target's bucket, the commit of the copy proves that bucket and caller are current. If
 * the source is in another bucket, its own look-up must prove that the copy of that bucket is current; otherwise that bucket is
 * read from the primary.
 */
async function findSource({ engine, bucket }: BucketContext, { bucket: name, key, versionId }: SourceName) {
  if (name === bucket.name) return ok({ bucket, found: await engine.getVersion(bucket, key, { versionId }) });
  if (bucket.proof && needsProof(bucket)) {
    const pending = engine.beginRead(name, key, { versionId });
    const copy = await engine.getBucket(name, 'replica');
    const found = copy.ok ? await pending.openProven(copy.value, bucket.proof.identity) : null;
    if (copy.ok && found?.ok) return ok({ bucket: copy.value, found });
  }
  const current = await engine.getBucket(name);
  if (!current.ok) return err({ details: { BucketName: name }, ...toS3Error(current.error) });
  return ok({ bucket: current.value, found: await engine.getVersion(current.value, key, { versionId }) });
}

export async function openCopySource(context: BucketContext): Promise<Result<CopySource, S3Failure>> {
  const { request, caller } = context;
  const name = parseCopySource(request.headers.get('x-amz-copy-source') ?? '');
  if (!name.ok) return name;
  const { key, versionId } = name.value;
  const source = await findSource(context, name.value);
  if (!source.ok) return source;
  const { bucket, found } = source.value;
  const expectedOwner = request.headers.get('x-amz-source-expected-bucket-owner');
  if (expectedOwner !== null && expectedOwner !== bucket.ownerId) return err(s3Failure('AccessDenied'));
  const version = requireObject(found, bucket, key, versionId, () =>
    context.may({
      action: 'ListBucket',
      key: null,
      acl: { of: 'bucket', permission: 'READ' },
      bucket: bucket,
      caller,
    }),
  );
  if (!version.ok) {
    if (found.ok && versionId !== undefined) {
      return err(
        s3Failure(
          'InvalidRequest',
          'The source of a copy request may not specifically refer to a delete marker by version id.',
        ),
      );
    }
    return version;
  }
  const isAllowed = context.may({
    action: versionId === undefined ? 'GetObject' : 'GetObjectVersion',
    key,
    acl: { of: 'object', permission: 'READ' },
    bucket: bucket,
    version: version.value,
    caller,
  });
  if (!isAllowed) return err(s3Failure('AccessDenied'));
  if (isTakenDown(bucket) || version.value.isTakenDown) return err(s3Failure('UnavailableForLegalReasons'));
  const sourceKey = checkReadKey(version.value, request.headers, 'x-amz-copy-source-');
  if (!sourceKey.ok) return sourceKey;
  const conditions = readConditionsFrom(request.headers, 'x-amz-copy-source-');
  const { etag, modifiedAt } = version.value;
  // If a condition on the source of a copy is not met, the answer is always 412, even where a read would get 304 (CopyObject,
  // x-amz-copy-source-if-none-match).
  const decision = decideRead(conditions, { etag, lastModifiedMs: modifiedAt });
  if (decision !== 'proceed') {
    const [byTag, byDate] =
      decision === 'not_modified'
        ? (['if-none-match', 'if-modified-since'] as const)
        : (['if-match', 'if-unmodified-since'] as const);
    const lost = request.headers.has(`x-amz-copy-source-${byTag}`) ? byTag : byDate;
    return err(s3Failure('PreconditionFailed', undefined, { details: { Condition: `x-amz-copy-source-${lost}` } }));
  }
  return ok({ bucket: bucket, version: version.value, versionId, key: sourceKey.value });
}
