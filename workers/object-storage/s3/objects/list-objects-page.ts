/** Reads one page of ListObjects or ListObjectsV2, and writes its XML. */
import { err, ok, type Result } from '../../../shared/result.ts';
import { CHECKSUM_ALGORITHMS } from '../../domain/checksums.ts';
import type { S3Failure } from '../../domain/failure.ts';
import type { Listed, ListedVersion, ListPage } from '../../engine/model/contract.ts';
import { toOwnerElement } from '../documents/acl-document.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import type { BucketContext } from '../protocol/operation.ts';
import { element, type XmlNode } from '../protocol/xml.ts';
import type { ListingParameters } from './list-parameters.ts';
import { quoteEtag } from './object-headers.ts';

/** Reads a page of a listing. @param from lower bound of the names; null if no name can follow, so that the page is empty. */
export async function readPage(
  { engine, bucket }: BucketContext,
  { prefix, delimiter, limit }: ListingParameters,
  from: string | null,
): Promise<Result<ListPage<ListedVersion>, S3Failure>> {
  if (limit === 0 || from === null) return ok({ entries: [], next: null });
  const page = await engine.listObjects({ bucket, prefix, delimiter, from, limit });
  return page.ok ? page : err(toS3Error(page.error));
}

export function toEntries(
  entries: readonly Listed<ListedVersion>[],
  show: (name: string) => string,
  withOwner: boolean,
): XmlNode[] {
  const contents: XmlNode[] = [];
  const prefixes: XmlNode[] = [];
  for (const entry of entries) {
    if (entry.kind === 'prefix') prefixes.push(toPrefixElement(entry.prefix, show));
    else contents.push(element('Contents', toObjectElements(entry.item, show, withOwner)));
  }
  return [...contents, ...prefixes];
}

export const toPrefixElement = (prefix: string, show: (name: string) => string): XmlNode =>
  element('CommonPrefixes', element('Prefix', show(prefix)));

function toObjectElements(version: ListedVersion, show: (name: string) => string, withOwner: boolean): XmlNode[] {
  return [
    element('Key', show(version.name)),
    element('LastModified', new Date(version.modifiedAt).toISOString()),
    element('ETag', quoteEtag(version.etag)),
    ...toChecksumSummary(version),
    element('Size', version.size),
    ...(withOwner ? [toVersionOwner(version)] : []),
    element('StorageClass', storageClassOf(version)),
  ];
}

export function toChecksumSummary(version: ListedVersion): XmlNode[] {
  const algorithm = CHECKSUM_ALGORITHMS.find((name) => version.checksums[name] !== undefined);
  if (!algorithm) return [];
  return [element('ChecksumAlgorithm', algorithm), element('ChecksumType', version.checksumType ?? 'FULL_OBJECT')];
}

export const storageClassOf = ({ metadata }: Pick<ListedVersion, 'metadata'>): string =>
  metadata.headers['x-amz-storage-class'] ?? 'STANDARD';

export function toVersionOwner({ metadata }: Pick<ListedVersion, 'metadata'>): XmlNode {
  const name = metadata.extra?.ownerName;
  return toOwnerElement({ id: metadata.ownerId ?? '', displayName: typeof name === 'string' ? name : null });
}
