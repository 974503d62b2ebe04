import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { CHECKSUM_ALGORITHMS, parseChecksumAlgorithm, toChecksumElement } from '../../domain/checksums.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import { checkKey } from '../../domain/naming.ts';
import type {
  Checksums,
  CopyRequest,
  Engine,
  ObjectMetadata,
  Proven,
  VersionAttributes,
  VersionFacts,
} from '../../engine/model/contract.ts';
import { ownerOfUpload } from '../access/acl-request.ts';
import { type CopySource, openCopySource } from '../objects/copy-source.ts';
import { readWriteKey } from '../objects/customer-keys.ts';
import { type CopyKeys, copyEncrypted, isEncryptedCopy } from '../objects/encrypted-copy.ts';
import { quoteEtag, shownVersionId, toWrittenHeaders } from '../objects/object-headers.ts';
import { readNewObject, readWriteCondition, uploadHeadersOf } from '../objects/object-upload.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { PUT_BYTES_MAX, toFailure } from '../protocol/engine-failures.ts';
import type { BucketContext, Operation } from '../protocol/operation.ts';
import { element, type XmlNode } from '../protocol/xml.ts';

export const copyObject: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'PutObject', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run(context) {
    const { request, bucket, engine } = context;
    const key = checkKey(request.key);
    if (!key.ok) return key;
    const condition = readWriteCondition(context);
    if (!condition.ok) return condition;
    const directives = readDirectives(request.headers);
    if (!directives.ok) return directives;
    const algorithm = readAlgorithm(request.headers);
    if (!algorithm.ok) return algorithm;
    const source = await openCopySource(context);
    if (!source.ok) return source;
    const refused = refuseSource(context, source.value, directives.value.metadata);
    if (refused) return err(refused);
    const target = readWriteKey(request.headers, bucket);
    if (!target.ok) return target;
    const object = await toNewObject(context, source.value, directives.value);
    if (!object.ok) return object;
    const order = {
      bucket,
      name: request.key,
      source: source.value.version,
      ...object.value,
      ...(algorithm.value ? { checksum: algorithm.value } : {}),
      ...condition.value,
    };
    const copied = await copy(engine, order, { source: source.value.key, target: target.value });
    if (!copied.ok) return copied;
    const { version } = source.value;
    return {
      ok: true,
      value: xmlAnswer(
        'CopyObjectResult',
        [
          element('LastModified', new Date(copied.value.modifiedAt).toISOString()),
          element('ETag', quoteEtag(copied.value.etag)),
          ...toChecksumElements(copied.value.checksums, copied.value.checksumType),
        ],
        {
          ...toWrittenHeaders(bucket, copied.value, target.value),
          ...(source.value.bucket.versioning === 'never'
            ? {}
            : { 'x-amz-copy-source-version-id': shownVersionId(version) }),
        },
      ),
      proof: copied.proof,
    };
  },
};

async function copy(engine: Engine, order: CopyRequest, keys: CopyKeys): Promise<Proven<VersionFacts, S3Failure>> {
  if (isEncryptedCopy(keys)) return await copyEncrypted(engine, order, keys);
  const copied = await engine.copyObject(order);
  return copied.ok ? copied : toFailure(copied);
}

type Directive = 'COPY' | 'REPLACE';

function readDirectives(headers: Headers): Result<{ metadata: Directive; tagging: Directive }, S3Failure> {
  const read = (name: string): Directive | null => {
    const value = headers.get(name) ?? 'COPY';
    return value === 'COPY' || value === 'REPLACE' ? value : null;
  };
  const [metadata, tagging] = [read('x-amz-metadata-directive'), read('x-amz-tagging-directive')];
  if (metadata === null) {
    const value = headers.get('x-amz-metadata-directive') ?? '';
    return err(invalidArgument('x-amz-metadata-directive', value, 'Unknown metadata directive.'));
  }
  if (tagging === null) {
    const value = headers.get('x-amz-tagging-directive') ?? '';
    return err(invalidArgument('x-amz-tagging-directive', value, 'Unknown tagging directive.'));
  }
  return ok({ metadata, tagging });
}

function readAlgorithm(headers: Headers) {
  const text = headers.get('x-amz-checksum-algorithm');
  if (text === null) return ok(null);
  const algorithm = parseChecksumAlgorithm(text);
  return algorithm ? ok(algorithm) : err(s3Failure('InvalidRequest', 'Checksum algorithm provided is unsupported.'));
}

function refuseSource(context: BucketContext, source: CopySource, metadata: Directive): S3Failure | null {
  const { request, bucket } = context;
  if (source.version.size > PUT_BYTES_MAX) {
    return s3Failure(
      'InvalidRequest',
      `The specified copy source is larger than the maximum allowable size for a copy source: ${PUT_BYTES_MAX}`,
    );
  }
  const isItself =
    source.bucket.bucketId === bucket.bucketId && source.version.name === request.key && source.versionId === undefined;
  const changes = [
    'x-amz-storage-class',
    'x-amz-website-redirect-location',
    'x-amz-server-side-encryption',
    'x-amz-server-side-encryption-customer-algorithm',
  ];
  if (isItself && metadata === 'COPY' && !changes.some((name) => request.headers.has(name))) {
    return s3Failure(
      'InvalidRequest',
      "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
    );
  }
  return null;
}

/** The attributes of the copy. Storage class, redirect and ACL come from the request, never from the source (CopyObject). */
async function toNewObject(
  context: BucketContext,
  { version }: CopySource,
  directives: { metadata: Directive; tagging: Directive },
): Promise<Result<VersionAttributes, S3Failure>> {
  const tags = directives.tagging === 'COPY' ? version.tags : undefined;
  const object = await readNewObject(context, uploadHeadersOf(context), context.request.key, tags);
  if (!object.ok || directives.metadata === 'REPLACE') return object;
  const owner = ownerOfUpload(context, context.request.headers.get('x-amz-acl'));
  const own = object.value.metadata.headers;
  const headers: Record<string, string> = { ...version.metadata.headers };
  for (const name of ['x-amz-storage-class', 'x-amz-website-redirect-location']) {
    delete headers[name];
    if (own[name] !== undefined) headers[name] = own[name];
  }
  const metadata: ObjectMetadata = {
    headers,
    user: version.metadata.user,
    ownerId: owner.id,
    ...(owner.displayName ? { extra: { ownerName: owner.displayName } } : {}),
  };
  return ok({ ...object.value, metadata });
}

export function toChecksumElements(checksums: Checksums, type: string | null): XmlNode[] {
  const nodes = CHECKSUM_ALGORITHMS.map((algorithm) => element(toChecksumElement(algorithm), checksums[algorithm]));
  return nodes.some((node) => node.xml !== '') && type ? [...nodes, element('ChecksumType', type)] : nodes;
}
