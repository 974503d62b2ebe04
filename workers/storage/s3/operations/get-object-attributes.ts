import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { StoredVersion } from '../../engine/model/contract.ts';
import { toPartChecksums } from '../documents/upload-elements.ts';
import { checkReadKey } from '../objects/customer-keys.ts';
import { storageClassOf } from '../objects/list-objects-page.ts';
import { toVersionHeaders } from '../objects/object-headers.ts';
import { mayList } from '../objects/object-read.ts';
import { requireObject } from '../objects/object-version.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { LIST_KEYS_MAX } from '../protocol/list-limit.ts';
import { type Operation, onObject, type VersionContext } from '../protocol/operation.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { toChecksumElements } from './copy-object.ts';

const ATTRIBUTES = ['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize'];

export const getObjectAttributes: Operation = {
  needs: 'version',
  permission: onObject('GetObjectAttributes', 'GetObjectVersionAttributes', 'READ'),
  async run(context) {
    const { request, bucket, found } = context;
    const wanted = readWanted(request.headers.get('x-amz-object-attributes'));
    if (!wanted.ok) return wanted;
    const version = requireObject(found, bucket, request.key, request.query.get('versionId'), () => mayList(context));
    if (!version.ok) return version;
    const key = checkReadKey(version.value, request.headers);
    if (!key.ok) return key;
    const { etag, checksums, checksumType, size, modifiedAt, partCount } = version.value;
    const parts =
      wanted.value.has('ObjectParts') && partCount !== null ? await readParts(context, version.value) : ok(null);
    if (!parts.ok) return parts;
    const checksum = toChecksumElements(checksums, checksumType ?? 'FULL_OBJECT');
    const hasChecksum = checksum.some((node) => node.xml !== '');
    const when = (name: string, node: () => XmlNode) => (wanted.value.has(name) ? [node()] : []);
    return ok(
      xmlAnswer(
        'GetObjectAttributesResponse',
        [
          ...when('ETag', () => element('ETag', etag)),
          ...(hasChecksum ? when('Checksum', () => element('Checksum', checksum)) : []),
          ...(parts.value ? [parts.value] : []),
          ...when('StorageClass', () => element('StorageClass', storageClassOf(version.value))),
          ...when('ObjectSize', () => element('ObjectSize', size)),
        ],
        { 'last-modified': new Date(modifiedAt).toUTCString(), ...toVersionHeaders(bucket, version.value) },
      ),
    );
  },
};

function readWanted(header: string | null): Result<ReadonlySet<string>, S3Failure> {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) {
    return err(
      s3Failure(
        'InvalidRequest',
        'The x-amz-object-attributes header specifying the attributes to be retrieved is either missing or empty',
      ),
    );
  }
  const wrong = names.find((name) => !ATTRIBUTES.includes(name));
  if (wrong !== undefined) {
    return err(invalidArgument('x-amz-object-attributes', wrong, 'Invalid attribute name specified.'));
  }
  return ok(new Set(names));
}

async function readParts(
  { request, engine }: VersionContext,
  version: StoredVersion,
): Promise<Result<XmlNode, S3Failure>> {
  const marker = request.headers.get('x-amz-part-number-marker') ?? '0';
  const max = request.headers.get('x-amz-max-parts') ?? String(LIST_KEYS_MAX);
  if (!/^\d{1,9}$/.test(marker)) return err(invalidArgument('x-amz-part-number-marker', marker));
  if (!/^\d{1,9}$/.test(max)) return err(invalidArgument('x-amz-max-parts', max));
  const limit = Math.min(Number(max), LIST_KEYS_MAX);
  const listed = await engine.listObjectParts(version, { after: Number(marker), limit: Math.max(1, limit) });
  if (!listed.ok) return err(toS3Error(listed.error));
  const parts = limit === 0 ? [] : listed.value.parts;
  return ok(
    element('ObjectParts', [
      element('PartsCount', version.partCount),
      element('PartNumberMarker', marker),
      element('NextPartNumberMarker', parts.at(-1)?.partNumber ?? 0),
      element('MaxParts', limit),
      element('IsTruncated', limit > 0 && listed.value.isTruncated),
      ...parts.map((part) =>
        element('Part', [element('PartNumber', part.partNumber), element('Size', part.size), ...toPartChecksums(part)]),
      ),
    ]),
  );
}
