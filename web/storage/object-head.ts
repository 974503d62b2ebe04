/** Reads and changes the headers of an object without its content. */
import { type Key, S3Error, s3 } from './s3.ts';
import { encodeKey } from './sigv4.ts';

export interface Head {
  contentType: string;
  size: number;
  etag: string;
  modifiedAt: string;
  objectId: string;
  objectVersion: string;
  /** User metadata, without the prefix `x-amz-meta-`. */
  metadata: [string, string][];
  /** Other headers stored with the object. A change of its metadata must send them again. */
  stored: Record<string, string>;
}

const META = 'x-amz-meta-';
const STORED = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires'];

/** Reads the headers of an object or of one version. @returns null if it does not exist or is a delete marker. */
export async function readHead(key: Key, bucket: string, name: string, versionId: string | null): Promise<Head | null> {
  try {
    const query: Record<string, string> = versionId ? { versionId } : {};
    const { headers } = await s3(key, { method: 'HEAD', bucket, key: name, query });
    const get = (header: string) => headers.get(header) ?? '';
    return {
      contentType: get('content-type'),
      size: Number(get('content-length')),
      etag: get('etag').replaceAll('"', ''),
      modifiedAt: new Date(get('last-modified')).toISOString(),
      objectId: get('x-object-id'),
      objectVersion: get('x-object-version') || get('x-amz-version-id'),
      metadata: [...headers].flatMap(([header, value]): [string, string][] =>
        header.startsWith(META) ? [[header.slice(META.length), value]] : [],
      ),
      stored: Object.fromEntries(STORED.flatMap((header) => (headers.get(header) ? [[header, get(header)]] : []))),
    };
  } catch (error) {
    if (error instanceof S3Error && error.status === 404) return null;
    throw error;
  }
}

/**
 * Changes metadata by a copy of the object onto itself, as S3 requires. If another client has replaced the object, S3
 * answers 412.
 */
export const putHead = (
  key: Key,
  bucket: string,
  name: string,
  head: Head,
  change: { contentType: string; metadata: readonly [string, string][] },
): Promise<Response> =>
  s3(key, {
    method: 'PUT',
    bucket,
    key: name,
    headers: {
      ...head.stored,
      'content-type': change.contentType,
      ...Object.fromEntries(change.metadata.map(([member, value]) => [META + member.toLowerCase(), value])),
      'x-amz-copy-source': `/${bucket}/${encodeKey(name)}`,
      'x-amz-copy-source-if-match': `"${head.etag}"`,
      'x-amz-metadata-directive': 'REPLACE',
    },
  });
