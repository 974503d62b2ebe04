/** XML elements of multipart uploads and parts, and the part number that a request has. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { CHECKSUM_ALGORITHMS, toChecksumElement } from '../../domain/checksums.ts';
import { invalidArgument, type S3Failure } from '../../domain/failure.ts';
import type { PartFacts, UploadFacts } from '../../engine/model/contract.ts';
import { PART_NUMBER_MAX } from '../protocol/engine-failures.ts';
import type { S3Request } from '../protocol/request.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import { toOwnerElement } from './acl-document.ts';

export function toInitiatorElement({ metadata }: Pick<UploadFacts, 'metadata'>): XmlNode {
  const { initiatorId, initiatorName, ownerName } = metadata.extra ?? {};
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return toOwnerElement(
    { id: text(initiatorId) ?? metadata.ownerId ?? '', displayName: text(initiatorName) ?? text(ownerName) },
    'Initiator',
  );
}

export const toPartChecksums = (part: Pick<PartFacts, 'checksums'>): XmlNode[] =>
  CHECKSUM_ALGORITHMS.map((algorithm) => element(toChecksumElement(algorithm), part.checksums[algorithm]));

export function readPartNumber(request: S3Request): Result<number, S3Failure> {
  const text = request.query.get('partNumber') ?? '';
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= PART_NUMBER_MAX
    ? ok(number)
    : err(invalidArgument('partNumber', text, 'Part number must be an integer between 1 and 10000, inclusive'));
}

export const readUploadId = (request: S3Request): string => request.query.get('uploadId') ?? '';
