/** Reads one page of ListObjects or ListObjectsV2, and writes its XML. */
import { CHECKSUM_ALGORITHMS } from '../../domain/checksums.ts';
import type { S3Failure } from '../../domain/failure.ts';
import type { Engine, Listed, ListedVersion, ListPage, Proven } from '../../engine/model/contract.ts';
import { toOwnerElement } from '../documents/acl-document.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import type { BucketContext } from '../protocol/operation.ts';
import { element, escapeXml, type XmlNode } from '../protocol/xml.ts';
import type { ListingParameters } from './list-parameters.ts';

/** A request for one page of a listing. */
export interface PageRequest extends Pick<ListingParameters, 'prefix' | 'delimiter' | 'limit'> {
  /** Lower bound of the names; null if no name can follow, so that the page is empty. */
  readonly from: string | null;
}

export function beginPage(engine: Engine, bucketName: string, page: PageRequest): void {
  const { prefix, delimiter, limit, from } = page;
  if (limit > 0 && from !== null) engine.beginListing(bucketName, { prefix, delimiter, limit, from });
}

export async function readPage(
  { engine, bucket }: BucketContext,
  { prefix, delimiter, limit, from }: PageRequest,
): Promise<Proven<ListPage<ListedVersion>, S3Failure>> {
  if (limit === 0 || from === null) return { ok: true, value: { entries: [], next: null }, proof: 'open' };
  const page = await engine.listObjects({ bucket, prefix, delimiter, from, limit });
  return page.ok ? page : toFailure(page);
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
    else {
      const { item } = entry;
      contents.push({ xml: `<Contents>${toKeyXml(show(item.name))}${toObjectXml(item, withOwner)}</Contents>` });
    }
  }
  return [...contents, ...prefixes];
}

export const toPrefixElement = (prefix: string, show: (name: string) => string): XmlNode =>
  element('CommonPrefixes', element('Prefix', show(prefix)));

export const toKeyXml = (shownName: string): string => `<Key>${escapeXml(shownName)}</Key>`;

/**
 * Writes the elements of an object from `LastModified` on, as text. A page has up to 1,000 objects, and trees of elements would
 * take three times as long.
 */
export function toObjectXml(version: ListedVersion, withOwner: boolean): string {
  const { checksums, checksumType, etag, modifiedAt, size } = version;
  const algorithm = CHECKSUM_ALGORITHMS.find((name) => checksums[name] !== undefined);
  const type = `<ChecksumType>${checksumType ?? 'FULL_OBJECT'}</ChecksumType>`;
  return `<LastModified>${new Date(modifiedAt).toISOString()}</LastModified><ETag>&quot;${escapeXml(etag)}&quot;</ETag>${
    algorithm === undefined ? '' : `<ChecksumAlgorithm>${algorithm}</ChecksumAlgorithm>${type}`
  }<Size>${size}</Size>${withOwner ? toVersionOwner(version).xml : ''}<StorageClass>${escapeXml(storageClassOf(version))}</StorageClass>`;
}

export const storageClassOf = ({ metadata }: Pick<ListedVersion, 'metadata'>): string =>
  metadata.headers['x-amz-storage-class'] ?? 'STANDARD';

export function toVersionOwner({ metadata }: Pick<ListedVersion, 'metadata'>): XmlNode {
  const name = metadata.extra?.ownerName;
  return toOwnerElement({ id: metadata.ownerId ?? '', displayName: typeof name === 'string' ? name : null });
}
