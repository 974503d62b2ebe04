import type { Listed, UploadFacts } from '../../engine/model/contract.ts';
import { toInitiatorElement } from '../documents/upload-elements.ts';
import { storageClassOf, toPrefixElement, toVersionOwner } from '../objects/list-objects-page.ts';
import { parseListing, toStart } from '../objects/list-parameters.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element, type XmlNode } from '../protocol/xml.ts';

const EMPTY = { ok: true, value: { entries: [], next: null, nextUpload: null }, proof: 'open' } as const;

export const listMultipartUploads: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: onBucket('ListBucketMultipartUploads', 'READ'),
  async run({ request, bucket, engine }) {
    const parameters = parseListing(request, 'max-uploads');
    if (!parameters.ok) return parameters;
    const { prefix, delimiter, limit, show, isUrlEncoded } = parameters.value;
    const keyMarker = request.query.get('key-marker') ?? '';
    // "If key-marker is not specified, the upload-id-marker parameter is ignored" (ListMultipartUploads).
    const uploadMarker = keyMarker === '' ? '' : (request.query.get('upload-id-marker') ?? '');
    const from = uploadMarker === '' ? toStart(keyMarker, prefix, delimiter) : keyMarker;
    const page =
      limit === 0 || from === null
        ? EMPTY
        : await engine.listUploads({
            bucket,
            prefix,
            delimiter,
            limit,
            from,
            ...(uploadMarker === '' ? {} : { uploadsAfter: uploadMarker }),
          });
    if (!page.ok) return toFailure(page);
    const { entries, next } = page.value;
    const marker = next === null ? null : toMarker(entries.at(-1));
    return {
      ok: true,
      value: xmlAnswer('ListMultipartUploadsResult', [
        element('Bucket', bucket.name),
        element('KeyMarker', show(keyMarker)),
        element('UploadIdMarker', uploadMarker),
        element('NextKeyMarker', marker && show(marker.key)),
        element('NextUploadIdMarker', marker?.uploadId),
        element('Prefix', show(prefix)),
        element('Delimiter', delimiter === '' ? null : show(delimiter)),
        element('MaxUploads', limit),
        element('EncodingType', isUrlEncoded ? 'url' : null),
        element('IsTruncated', next !== null),
        ...entries.flatMap((entry) => (entry.kind === 'item' ? [toUploadElement(entry.item, show)] : [])),
        ...entries.flatMap((entry) => (entry.kind === 'prefix' ? [toPrefixElement(entry.prefix, show)] : [])),
      ]),
      proof: page.proof,
    };
  },
};

function toMarker(last: Listed<UploadFacts> | undefined): { key: string; uploadId: string | null } | null {
  if (!last) return null;
  if (last.kind === 'prefix') return { key: last.prefix, uploadId: null };
  return { key: last.item.name, uploadId: last.item.uploadId };
}

function toUploadElement(upload: UploadFacts, show: (name: string) => string): XmlNode {
  return element('Upload', [
    element('Key', show(upload.name)),
    element('UploadId', upload.uploadId),
    toInitiatorElement(upload),
    toVersionOwner(upload),
    element('StorageClass', storageClassOf(upload)),
    element('Initiated', new Date(upload.initiatedAt).toISOString()),
    element('ChecksumAlgorithm', upload.checksumAlgorithm),
    element('ChecksumType', upload.checksumType),
  ]);
}
