/** S3 client for this service: Amazon S3's REST API, with requests signed in the browser. */
import { fill, language, texts } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { type Credentials, encodeKey, encodeQuery, presign, sha256Hex, signHeaders, type Target } from './sigv4.ts';
import { childrenOf, escapeXml, parseXml, textOf } from './xml.ts';

const t = storageTexts.objects;

export interface Key extends Credentials {
  endpoint: string;
  /** Mail address of the mailbox whose session created the key. */
  ownerName?: string;
  ownerEmail?: string;
  expiresAt?: string;
}

/** The person to whom a key belongs, as far as the page knows: the key of a sign-in with a mailbox is a new one each time. */
export const toOwner = ({ accessKeyId, ownerEmail }: Key): string => ownerEmail ?? accessKeyId;

export class S3Error extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    // The server writes English.
    super(
      texts.storage[code] || (language === 'en' && message) || code || fill(texts.unknown, { status: String(status) }),
    );
    this.status = status;
    this.code = code;
  }
}

export interface Call {
  method?: string;
  bucket?: string;
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** Request body. Its hash is signed, so the server rejects a body that was changed in transit. */
  body?: string | Uint8Array<ArrayBuffer>;
  signal?: AbortSignal;
}

/** SHA-256 of an empty body. */
const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export function toTarget(key: Key, call: Call): Target {
  const name = call.key ?? '';
  if (name.split('/').some((part) => part === '.' || part === '..')) {
    throw new S3Error(0, 'NameForBrowser', t.dotNames);
  }
  const path = call.bucket === undefined ? '/' : `/${call.bucket}${name === '' ? '' : `/${encodeKey(name)}`}`;
  return { method: call.method ?? 'GET', endpoint: key.endpoint, path, query: call.query ?? {} };
}

export function toUrl(target: Target): string {
  const query = encodeQuery(target.query);
  return `${target.endpoint}${target.path}${query ? `?${query}` : ''}`;
}

export async function toS3Error(status: number, body: string): Promise<S3Error> {
  if (!body.includes('<Error')) return new S3Error(status, status === 404 ? 'NotFound' : '', '');
  const error = parseXml(body);
  return new S3Error(status, textOf(error, 'Code'), textOf(error, 'Message'));
}

export async function s3(key: Key, call: Call): Promise<Response> {
  const target = toTarget(key, call);
  const bytes = typeof call.body === 'string' ? new TextEncoder().encode(call.body) : call.body;
  const hash = bytes ? await sha256Hex(bytes) : EMPTY_HASH;
  const headers = await signHeaders(key, target, call.headers ?? {}, hash);
  const init: RequestInit = { method: target.method, headers, credentials: 'omit', cache: 'no-store' };
  if (bytes) init.body = bytes;
  if (call.signal) init.signal = call.signal;
  let response: Response;
  try {
    response = await fetch(toUrl(target), init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new S3Error(0, 'Network', texts.unreachable);
  }
  if (!response.ok) throw await toS3Error(response.status, await response.text());
  return response;
}

const xml = async (key: Key, call: Call) => parseXml(await (await s3(key, call)).text());

export interface Bucket {
  name: string;
  createdAt: string;
}
export async function listBuckets(key: Key): Promise<Bucket[]> {
  const answer = await xml(key, {});
  const list = answer.children.find((child) => child.name === 'Buckets');
  return childrenOf(list ?? answer, 'Bucket').map((bucket) => ({
    name: textOf(bucket, 'Name'),
    createdAt: textOf(bucket, 'CreationDate'),
  }));
}

export interface Entry {
  key: string;
  size: number;
  modifiedAt: string;
  etag: string;
  /** Version id of the delete marker, if the newest version of the object is one. */
  markerId?: string;
}
export interface Listing {
  folders: string[];
  objects: Entry[];
  next: string | null;
}
export async function listObjects(key: Key, bucket: string, prefix: string, token: string | null): Promise<Listing> {
  const query: Record<string, string> = { 'list-type': '2', delimiter: '/', prefix, 'max-keys': '1000' };
  if (token) query['continuation-token'] = token;
  const answer = await xml(key, { bucket, query });
  return {
    folders: childrenOf(answer, 'CommonPrefixes').map((one) => textOf(one, 'Prefix')),
    objects: childrenOf(answer, 'Contents').map((one) => ({
      key: textOf(one, 'Key'),
      size: Number(textOf(one, 'Size')),
      modifiedAt: textOf(one, 'LastModified'),
      etag: textOf(one, 'ETag').replaceAll('"', ''),
    })),
    next: textOf(answer, 'NextContinuationToken') || null,
  };
}

export interface Version {
  versionId: string;
  isLatest: boolean;
  isMarker: boolean;
  size: number;
  modifiedAt: string;
}
/** Lists the versions of an object, newest first. */
export async function listVersions(key: Key, bucket: string, name: string): Promise<Version[]> {
  const answer = await xml(key, { bucket, query: { versions: '', prefix: name, 'max-keys': '1000' } });
  return answer.children
    .filter((one) => (one.name === 'Version' || one.name === 'DeleteMarker') && textOf(one, 'Key') === name)
    .map((one) => ({
      versionId: textOf(one, 'VersionId'),
      isLatest: textOf(one, 'IsLatest') === 'true',
      isMarker: one.name === 'DeleteMarker',
      size: Number(textOf(one, 'Size') || 0),
      modifiedAt: textOf(one, 'LastModified'),
    }));
}

export type Versioning = 'Enabled' | 'Suspended' | '';
export const getVersioning = async (key: Key, bucket: string): Promise<Versioning> =>
  textOf(await xml(key, { bucket, query: { versioning: '' } }), 'Status') as Versioning;

export const putVersioning = (key: Key, bucket: string, status: 'Enabled' | 'Suspended') =>
  s3(key, {
    method: 'PUT',
    bucket,
    query: { versioning: '' },
    body: `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>${status}</Status></VersioningConfiguration>`,
  });

export interface Tag {
  name: string;
  value: string;
}
export async function getTags(key: Key, bucket: string, name: string): Promise<Tag[]> {
  const answer = await xml(key, { bucket, key: name, query: { tagging: '' } });
  const set = answer.children.find((child) => child.name === 'TagSet') ?? answer;
  return childrenOf(set, 'Tag').map((tag) => ({ name: textOf(tag, 'Key'), value: textOf(tag, 'Value') }));
}

export const putTags = (key: Key, bucket: string, name: string, tags: readonly Tag[]) =>
  s3(key, {
    method: 'PUT',
    bucket,
    key: name,
    query: { tagging: '' },
    body: `<Tagging><TagSet>${tags
      .map((tag) => `<Tag><Key>${escapeXml(tag.name)}</Key><Value>${escapeXml(tag.value)}</Value></Tag>`)
      .join('')}</TagSet></Tagging>`,
  });

/** Restores an old version by a copy onto the same name. */
export const restoreVersion = (key: Key, bucket: string, name: string, versionId: string) =>
  s3(key, {
    method: 'PUT',
    bucket,
    key: name,
    headers: { 'x-amz-copy-source': `/${bucket}/${encodeKey(name)}?versionId=${encodeURIComponent(versionId)}` },
  });

export async function linkTo(
  key: Key,
  bucket: string,
  name: string,
  options: { expiresSeconds: number; versionId?: string; download?: boolean },
): Promise<string> {
  const query: Record<string, string> = {};
  if (options.versionId) query.versionId = options.versionId;
  if (options.download) {
    const file = encodeURIComponent(name.split('/').at(-1) || name);
    query['response-content-disposition'] = `attachment; filename*=UTF-8''${file}`;
  }
  return presign(key, toTarget(key, { bucket, key: name, query }), options.expiresSeconds);
}

export interface Part {
  number: number;
  etag: string;
  size: number;
}

export const createMultipart = async (key: Key, bucket: string, name: string, contentType: string): Promise<string> =>
  textOf(
    await xml(key, {
      method: 'POST',
      bucket,
      key: name,
      query: { uploads: '' },
      headers: { 'content-type': contentType },
    }),
    'UploadId',
  );

export async function listParts(key: Key, bucket: string, name: string, uploadId: string): Promise<Part[]> {
  const parts: Part[] = [];
  let marker = '';
  do {
    const query: Record<string, string> = { uploadId, 'max-parts': '1000' };
    if (marker) query['part-number-marker'] = marker;
    const answer = await xml(key, { bucket, key: name, query });
    for (const part of childrenOf(answer, 'Part')) {
      parts.push({
        number: Number(textOf(part, 'PartNumber')),
        etag: textOf(part, 'ETag').replaceAll('"', ''),
        size: Number(textOf(part, 'Size')),
      });
    }
    marker = textOf(answer, 'IsTruncated') === 'true' ? textOf(answer, 'NextPartNumberMarker') : '';
  } while (marker);
  return parts;
}

export async function completeMultipart(
  key: Key,
  bucket: string,
  name: string,
  uploadId: string,
  parts: readonly Part[],
) {
  const list = parts
    .toSorted((a, b) => a.number - b.number)
    .map((part) => `<Part><PartNumber>${part.number}</PartNumber><ETag>"${part.etag}"</ETag></Part>`);
  const answer = await xml(key, {
    method: 'POST',
    bucket,
    key: name,
    query: { uploadId },
    body: `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`,
  });
  // S3 sends status 200 before CompleteMultipartUpload is done. If it then fails, the body has the error.
  if (answer.name === 'Error') throw new S3Error(200, textOf(answer, 'Code'), textOf(answer, 'Message'));
}

export const abortMultipart = (key: Key, bucket: string, name: string, uploadId: string) =>
  s3(key, { method: 'DELETE', bucket, key: name, query: { uploadId } });
