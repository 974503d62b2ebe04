import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { CHECKSUM_ALGORITHMS, toChecksumElement, toChecksumHeader } from '../../domain/checksums.ts';
import { toBareEtag } from '../../domain/conditions.ts';
import { type CustomerKey, parseCustomerKey } from '../../domain/customer-key.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { CompleteUploadRequest, UploadFacts } from '../../engine/model/contract.ts';
import { LIST_BYTES_MAX, readDocument } from '../bodies/document-body.ts';
import { readUploadId } from '../documents/upload-elements.ts';
import { checkPartKey } from '../objects/customer-keys.ts';
import { quoteEtag, toWrittenHeaders } from '../objects/object-headers.ts';
import { readWriteCondition } from '../objects/object-upload.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { PART_BYTES_MIN, PART_NUMBER_MAX, toFailure } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';
import { childrenOf, parseXmlList, textOf, type XmlElement } from '../protocol/xml-parser.ts';
import { toChecksumElements } from './copy-object.ts';

const PARTS = { rootName: 'CompleteMultipartUpload', itemName: 'Part', itemsMax: PART_NUMBER_MAX };

type Parts = CompleteUploadRequest['parts'];

export const completeMultipartUpload: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'PutObject', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run(context) {
    const { request, bucket, engine, caller } = context;
    const condition = readWriteCondition(context);
    if (!condition.ok) return condition;
    // In this request the checksum headers describe the whole object and not the body, so they are taken out before the body is
    // read.
    const headers = new Headers(request.headers);
    const checksum = takeChecksum(headers);
    if (!checksum.ok) return checksum;
    const text = await readDocument({ ...request, headers }, caller.payload, LIST_BYTES_MAX);
    if (!text.ok) return text;
    if (text.value.trim() === '') return err(s3Failure('MalformedXML'));
    const root = await parseXmlList(text.value, PARTS);
    if (!root.ok) return root;
    const parts = readParts(childrenOf(root.value, 'Part'));
    if (!parts.ok) return parts;
    const size = request.headers.get('x-amz-mp-object-size');
    if (size !== null && !/^\d{1,15}$/.test(size)) {
      return err(s3Failure('InvalidRequest', 'Value for x-amz-mp-object-size header is invalid.'));
    }
    const customerKey = parseCustomerKey(request.headers);
    if (!customerKey.ok) return customerKey;
    const completed = await engine.completeUpload<S3Failure>({
      bucket,
      name: request.key,
      uploadId: readUploadId(request),
      parts: parts.value,
      partBytesMin: PART_BYTES_MIN,
      ...(checksum.value === null ? {} : { checksum: checksum.value }),
      ...(size === null ? {} : { size: Number(size) }),
      ...condition.value,
      check: (upload) => checkUpload(request.headers, upload, customerKey.value),
    });
    if (!completed.ok) return toFailure(completed);
    const { etag, checksums, checksumType } = completed.value;
    return {
      ok: true,
      value: xmlAnswer(
        'CompleteMultipartUploadResult',
        [
          element(
            'Location',
            `${request.isSecure ? 'https' : 'http'}://${request.headers.get('host') ?? ''}${request.rawPath}`,
          ),
          element('Bucket', bucket.name),
          element('Key', request.key),
          element('ETag', quoteEtag(etag)),
          ...toChecksumElements(checksums, checksumType),
        ],
        toWrittenHeaders(bucket, completed.value, customerKey.value),
      ),
      proof: completed.proof,
    };
  },
};

/**
 * Checks that a request fits the upload that it completes. The customer-provided key of the upload is needed, as at S3 for uploads
 * with checksums, which all have there (CompleteMultipartUpload, x-amz-server-side-encryption-customer-key).
 */
function checkUpload(headers: Headers, upload: UploadFacts, key: CustomerKey | null): Result<unknown, S3Failure> {
  const type = headers.get('x-amz-checksum-type')?.toUpperCase();
  if (type !== undefined && upload.checksumType !== null && upload.checksumType !== type) {
    return err(
      s3Failure(
        'InvalidRequest',
        `The upload was created using the ${upload.checksumType} checksum mode. The complete request must use the same checksum mode.`,
      ),
    );
  }
  return checkPartKey(upload, key);
}

function takeChecksum(headers: Headers): Result<string | null, S3Failure> {
  const given = CHECKSUM_ALGORITHMS.map(toChecksumHeader).filter((name) => headers.has(name));
  if (given.length > 1) {
    return err(
      s3Failure(
        'InvalidRequest',
        'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.',
      ),
    );
  }
  const [name] = given;
  const value = name === undefined ? null : headers.get(name);
  if (name !== undefined) headers.delete(name);
  headers.delete('x-amz-sdk-checksum-algorithm');
  return ok(value);
}

function readParts(nodes: readonly XmlElement[]): Result<Parts, S3Failure> {
  if (nodes.length === 0 || nodes.length > PART_NUMBER_MAX) return err(s3Failure('MalformedXML'));
  const parts: Parts[number][] = [];
  for (const node of nodes) {
    const [number, etag] = [textOf(node, 'PartNumber')?.trim() ?? '', textOf(node, 'ETag')];
    if (!/^\d{1,6}$/.test(number) || etag === null) return err(s3Failure('MalformedXML'));
    const partNumber = Number(number);
    if (partNumber < 1 || partNumber > PART_NUMBER_MAX) {
      return err(s3Failure('InvalidArgument', 'Part number must be an integer between 1 and 10000, inclusive'));
    }
    const previous = parts.at(-1)?.partNumber ?? 0;
    if (partNumber <= previous) return err(s3Failure('InvalidPartOrder'));
    const [checksum, ...others] = CHECKSUM_ALGORITHMS.flatMap((algorithm) => {
      const value = textOf(node, toChecksumElement(algorithm))?.trim();
      return value ? [{ algorithm, value }] : [];
    });
    if (others.length > 0) {
      return err(s3Failure('InvalidArgument', `Part ${partNumber} has more than one checksum. Send one per part.`));
    }
    parts.push({ partNumber, etag: toBareEtag(etag), ...(checksum ? { checksum } : {}) });
  }
  return ok(parts);
}
