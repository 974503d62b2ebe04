/** S3 calls that read or delete many objects at once. */
import { type Entry, type Key, type Listing, s3 } from './s3.ts';
import { sha256Hex } from './sigv4.ts';
import { childrenOf, type Element, escapeXml, parseXml, textOf } from './xml.ts';

/** Limit of S3 for one DeleteObjects request and for one page of a listing. */
export const KEYS_PER_REQUEST = 1000;

/** An object version to delete. Without a version id: the object itself. */
export interface Doomed {
  key: string;
  versionId?: string;
}
export interface DeleteFailure extends Doomed {
  message: string;
}

/** Converts a hex digest to Base64, as S3 requires it for the body of DeleteObjects. */
const toBase64 = (hex: string): string =>
  btoa((hex.match(/../g) ?? []).map((byte) => String.fromCharCode(Number.parseInt(byte, 16))).join(''));

/** Deletes up to 1,000 objects or versions in one request. @returns the failures. */
export async function deleteObjects(
  key: Key,
  bucket: string,
  doomed: readonly Doomed[],
  signal?: AbortSignal,
): Promise<DeleteFailure[]> {
  const objects = doomed.map(
    (one) =>
      `<Object><Key>${escapeXml(one.key)}</Key>${one.versionId === undefined ? '' : `<VersionId>${escapeXml(one.versionId)}</VersionId>`}</Object>`,
  );
  const body = `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${objects.join('')}</Delete>`;
  const checksum = toBase64(await sha256Hex(new TextEncoder().encode(body)));
  const response = await s3(key, {
    method: 'POST',
    bucket,
    query: { delete: '' },
    headers: { 'x-amz-checksum-sha256': checksum },
    body,
    ...(signal ? { signal } : {}),
  });
  return childrenOf(parseXml(await response.text()), 'Error').map((error) => ({
    key: textOf(error, 'Key'),
    ...(textOf(error, 'VersionId') ? { versionId: textOf(error, 'VersionId') } : {}),
    message: textOf(error, 'Message') || textOf(error, 'Code'),
  }));
}

export interface DoomedPage {
  doomed: Doomed[];
  next: string | null;
}

/** Reads a page of all objects under a prefix. */
export async function listKeys(
  key: Key,
  bucket: string,
  prefix: string,
  token: string | null,
  signal: AbortSignal,
): Promise<DoomedPage> {
  const query: Record<string, string> = { 'list-type': '2', prefix, 'max-keys': String(KEYS_PER_REQUEST) };
  if (token) query['continuation-token'] = token;
  const answer = parseXml(await (await s3(key, { bucket, query, signal })).text());
  return {
    doomed: childrenOf(answer, 'Contents').map((one) => ({ key: textOf(one, 'Key') })),
    next: textOf(answer, 'NextContinuationToken') || null,
  };
}

export const isVersion = (element: Element): boolean => element.name === 'Version' || element.name === 'DeleteMarker';

/** Returns the position after a page of versions as one string, or null after the last page. */
export function toNext(answer: Element): string | null {
  if (textOf(answer, 'IsTruncated') !== 'true') return null;
  return JSON.stringify([textOf(answer, 'NextKeyMarker'), textOf(answer, 'NextVersionIdMarker')]);
}
/** Adds the position that {@link toNext} returned to a query. */
export function withMarkers(query: Record<string, string>, token: string | null): Record<string, string> {
  if (token === null) return query;
  const [keyMarker = '', versionIdMarker = ''] = JSON.parse(token) as string[];
  return {
    ...query,
    'key-marker': keyMarker,
    ...(versionIdMarker ? { 'version-id-marker': versionIdMarker } : {}),
  };
}

/** Reads a page of all versions and delete markers under a prefix. */
export async function listAllVersions(
  key: Key,
  bucket: string,
  prefix: string,
  token: string | null,
  signal: AbortSignal,
): Promise<DoomedPage> {
  const query = withMarkers({ versions: '', prefix, 'max-keys': String(KEYS_PER_REQUEST) }, token);
  const answer = parseXml(await (await s3(key, { bucket, query, signal })).text());
  return {
    doomed: answer.children
      .filter(isVersion)
      .map((one) => ({ key: textOf(one, 'Key'), versionId: textOf(one, 'VersionId') })),
    next: toNext(answer),
  };
}

/** Lists a folder with its deleted objects: each object as its newest version, which may be a delete marker. */
export async function listWithDeleted(
  key: Key,
  bucket: string,
  prefix: string,
  token: string | null,
): Promise<Listing> {
  const query = withMarkers({ versions: '', delimiter: '/', prefix, 'max-keys': '1000' }, token);
  const answer = parseXml(await (await s3(key, { bucket, query })).text());
  const newest = answer.children.filter((one) => isVersion(one) && textOf(one, 'IsLatest') === 'true');
  return {
    folders: childrenOf(answer, 'CommonPrefixes').map((one) => textOf(one, 'Prefix')),
    objects: newest.map(
      (one): Entry => ({
        key: textOf(one, 'Key'),
        size: Number(textOf(one, 'Size') || 0),
        modifiedAt: textOf(one, 'LastModified'),
        etag: textOf(one, 'ETag').replaceAll('"', ''),
        ...(one.name === 'DeleteMarker' ? { markerId: textOf(one, 'VersionId') } : {}),
      }),
    ),
    next: toNext(answer),
  };
}
