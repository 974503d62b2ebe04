/** The source of a pull: requests to another S3 server, and what its answers mean. */
import { readLimited } from '../../shared/json/limited-body.ts';
import { S3Location, type S3LocationAddress, TRANSFER_MS } from '../../shared/s3-location/client.ts';
import type { SourceVersion } from '../domain/pulls.ts';
import { pause } from '../engine/model/context.ts';
import { childOf, childrenOf, parseXml, textOf, type XmlElement } from '../s3/protocol/xml-parser.ts';

/** Thrown if the source does not answer, or answers that it cannot now. The step is repeated later. */
export class SourceUnavailable extends Error {}

/** Thrown if the source refuses a listing, so that the job cannot continue. */
export class SourceRefused extends Error {
  readonly reason: 'source_denied' | 'source_not_found' | 'source_refused';
  constructor(status: number) {
    super(`the source answered a listing with ${status}`);
    this.reason =
      status === 401 || status === 403 ? 'source_denied' : status === 404 ? 'source_not_found' : 'source_refused';
  }
}

export interface SourcePage {
  readonly versions: readonly SourceVersion[];
  /** Where the next page begins; null at the end. */
  readonly next: { readonly key: string; readonly id: string } | null;
}

export interface SourceListing {
  readonly prefix: string;
  readonly afterKey: string;
  /** Lists the versions of `afterKey` that follow this one too; null to begin after the key. */
  readonly afterId: string | null;
  readonly limit: number;
}

/** An answer to a read. */
export interface Opened {
  readonly answer: Response;
  /** Its headers, with the encoding of the stored object. */
  readonly headers: Headers;
}

/** A page of 500 versions with the longest keys, each byte escaped, has about 2 MB. */
const DOCUMENT_BYTES_MAX = 4 * 1024 ** 2;
/** S3 gives version ids of at most 1,024 bytes. */
const VERSION_ID_LENGTH_MAX = 1_024;
const ETAG_LENGTH_MAX = 256;
/** Times that a transfer is opened again after the connection was lost. */
const REOPENINGS_MAX = 5;
const isBusy = (status: number): boolean => status === 429 || status >= 500;

/** Waits so that a pull keeps to its rate. */
export class Pace {
  readonly #perSecond: number | null;
  #next = 0;
  constructor(perSecond: number | null) {
    this.#perSecond = perSecond;
  }
  async take(amount: number): Promise<void> {
    if (this.#perSecond === null) return;
    const now = Date.now();
    const start = Math.max(now, this.#next);
    this.#next = start + (amount * 1_000) / this.#perSecond;
    if (start > now) await pause(start - now);
  }
}

export class Source {
  readonly #location: S3Location;
  readonly #requests: Pace;
  readonly #bytes: Pace;
  #acls: Promise<boolean> | null = null;
  #stream: Promise<void> = Promise.resolve();

  constructor(
    address: Omit<S3LocationAddress, 'url'> & { readonly bucket: string },
    paces: { requests: Pace; bytes: Pace },
  ) {
    const { bucket, ...rest } = address;
    this.#location = new S3Location({ ...rest, url: `s3://${bucket}` });
    this.#requests = paces.requests;
    this.#bytes = paces.bytes;
  }

  async #get(
    what: string,
    request: { key?: string; query?: Record<string, string>; headers?: Record<string, string>; timeoutMs?: number },
  ): Promise<Response> {
    await this.#requests.take(1);
    // An answer that the server compresses would have other bytes than the object.
    const headers = { 'accept-encoding': 'identity', ...request.headers };
    const answer = await this.#location.request(what, { ...request, headers }).catch((error: unknown) => {
      throw new SourceUnavailable(String(error));
    });
    if (!isBusy(answer.status) || answer.status === 501) return answer;
    await answer.body?.cancel();
    throw new SourceUnavailable(`the source answered ${what} with ${answer.status}`);
  }

  /** Lists versions and delete markers. @returns null if the server has no such listing. */
  async listVersions({ prefix, afterKey, afterId, limit }: SourceListing): Promise<SourcePage | null> {
    const answer = await this.#get('a listing of versions', {
      query: {
        versions: '',
        prefix,
        'max-keys': String(limit),
        'encoding-type': 'url',
        ...(afterKey === '' ? {} : { 'key-marker': afterKey }),
        ...(afterId === null ? {} : { 'version-id-marker': afterId }),
      },
    });
    if (answer.status === 501 || answer.status === 405) {
      await answer.body?.cancel();
      return null;
    }
    const list = await readList(answer, 'ListVersionsResult');
    const isMarker = ({ name }: XmlElement) => name === 'DeleteMarker';
    const items = list.children.filter((child) => child.name === 'Version' || isMarker(child));
    const versions = items.map((item) => toVersion(list, item, isMarker(item)));
    const next = {
      key: decode(list, textOf(list, 'NextKeyMarker') ?? ''),
      id: textOf(list, 'NextVersionIdMarker') ?? '',
    };
    return { versions, next: textOf(list, 'IsTruncated') === 'true' ? next : null };
  }

  /** Lists current objects. */
  async listObjects({ prefix, afterKey, limit }: SourceListing): Promise<SourcePage> {
    const answer = await this.#get('a listing', {
      query: {
        'list-type': '2',
        prefix,
        'max-keys': String(limit),
        'encoding-type': 'url',
        ...(afterKey === '' ? {} : { 'start-after': afterKey }),
      },
    });
    const list = await readList(answer, 'ListBucketResult');
    const versions = childrenOf(list, 'Contents').map((item) => toVersion(list, item, false));
    const isTruncated = textOf(list, 'IsTruncated') === 'true' && versions.length > 0;
    return { versions, next: isTruncated ? { key: versions.at(-1)?.key ?? '', id: '' } : null };
  }

  /** Opens a version. @param more `part`: number of a part to read instead of the whole. @returns the answer, whatever its status. */
  async open(version: SourceVersion, more: { readonly part?: number; readonly from?: number } = {}): Promise<Opened> {
    const query: Record<string, string> = {
      ...queryOf(version),
      ...(more.part === undefined ? {} : { partNumber: String(more.part) }),
    };
    const sent = {
      'x-amz-checksum-mode': 'ENABLED',
      ...(more.from === undefined ? {} : { range: `bytes=${more.from}-`, 'if-match': `"${version.etag}"` }),
    };
    const request = { key: version.key, query, headers: sent, timeoutMs: TRANSFER_MS };
    const answer = await this.#get('a read', request);
    const encoding = answer.headers.get('content-encoding');
    if (!answer.ok || encoding === null || encoding === 'identity') return { answer, headers: answer.headers };
    // The runtime would decompress the bytes. With this parameter the server names another encoding than the stored one.
    await answer.body?.cancel();
    const plain = await this.#get('a read', {
      ...request,
      query: { ...query, 'response-content-encoding': 'identity' },
    });
    const headers = new Headers(plain.headers);
    headers.set('content-encoding', encoding);
    return { answer: plain, headers };
  }

  /**
   * The body of an opened version. If the connection is lost, it is opened again where it was.
   * @param isPart whether it is the body of a part, of which no range can be requested: then the step is repeated.
   */
  body(version: SourceVersion, first: Response, size: number, isPart = false): ReadableStream<Uint8Array> {
    let reader = first.body?.getReader() ?? null;
    let [position, reopenings] = [0, 0];
    const reopen = async () => {
      const { answer } = await this.open(version, { from: position });
      if (answer.status === 206) return answer.body?.getReader() ?? null;
      await answer.body?.cancel();
      throw new SourceUnavailable(`the source answered a read with ${answer.status}`);
    };
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      for (;;) {
        try {
          const { done, value } = (await reader?.read()) ?? { done: true };
          if (value && value.length > 0) {
            position += value.length;
            await this.#bytes.take(value.length);
            return controller.enqueue(value);
          }
          if (done && position >= size) return controller.close();
          if (done) throw new SourceUnavailable('the source ended a body too early');
        } catch (error) {
          if (isPart || ++reopenings > REOPENINGS_MAX) return controller.error(error);
          await pause(200 * 2 ** reopenings);
          reader = await reopen();
        }
      }
    };
    return new ReadableStream({ pull, cancel: async (reason) => void (await reader?.cancel(reason)) });
  }

  /** Reads a small body whole. A body that is longer than `bytesMax` is cut off after it, so its length is a wrong one. */
  async bytes(answer: Response, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await readBody(answer, bytesMax);
    await this.#bytes.take(bytes.byteLength);
    return bytes;
  }

  /**
   * Runs transfers that stream one after the other. Such a transfer holds one connection to the source and one to each location, and an
   * invocation has six.
   */
  async alone<T>(transfer: () => Promise<T>): Promise<T> {
    const before = this.#stream;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stream = promise;
    await before;
    return transfer().finally(resolve);
  }

  /** Whether objects of the bucket may have ACLs. Asked once. */
  hasAcls(): Promise<boolean> {
    this.#acls ??= this.#get('a read of its ownership controls', { query: { ownershipControls: '' } }).then(
      async (answer) => !(await readText(answer))?.includes('BucketOwnerEnforced'),
    );
    return this.#acls;
  }

  /** Reads a document about a version. @returns null if the server does not give it. */
  async document(version: SourceVersion, name: 'tagging' | 'acl'): Promise<string | null> {
    const answer = await this.#get(`a read of ${name}`, {
      key: version.key,
      query: { [name]: '', ...queryOf(version) },
    });
    const text = await readText(answer);
    return answer.ok ? text : null;
  }
}

const queryOf = ({ id, isLatest }: SourceVersion): Record<string, string> =>
  id === 'null' && isLatest ? {} : { versionId: id };

/** Reads a body of a server that others chose, which may be endless. */
const readBody = (answer: Response, bytesMax: number): Promise<Buffer<ArrayBuffer>> =>
  readLimited(answer.body, bytesMax).catch((error: unknown) => {
    throw new SourceUnavailable(String(error));
  });

/** @returns null if the document is longer than those of S3 are. */
async function readText(answer: Response): Promise<string | null> {
  const bytes = await readBody(answer, DOCUMENT_BYTES_MAX);
  return bytes.length > DOCUMENT_BYTES_MAX ? null : bytes.toString();
}

async function readList(answer: Response, root: string): Promise<XmlElement> {
  const text = await readText(answer);
  const list = answer.ok && text !== null ? parseXml(text, root) : null;
  if (!list?.ok) throw new SourceRefused(answer.status);
  return list.value;
}

/** @throws SourceRefused for a text that is no key of S3. */
function decode(list: XmlElement, text: string): string {
  try {
    const key = textOf(list, 'EncodingType') === 'url' ? decodeURIComponent(text.replaceAll('+', '%20')) : text;
    if (key.isWellFormed()) return key;
  } catch {}
  throw new SourceRefused(200);
}

/** @throws SourceRefused for an item that no S3 server lists. */
function toVersion(list: XmlElement, item: XmlElement, isMarker: boolean): SourceVersion {
  const version = {
    key: decode(list, textOf(item, 'Key') ?? ''),
    id: textOf(item, 'VersionId') || 'null',
    isMarker,
    isLatest: (textOf(item, 'IsLatest') ?? 'true') === 'true',
    size: Number(textOf(item, 'Size') ?? 0),
    etag: (textOf(item, 'ETag') ?? '').replaceAll('"', ''),
    modifiedAt: Date.parse(textOf(item, 'LastModified') ?? '') || 0,
  };
  const { key, id, size, etag } = version;
  const isSized = Number.isSafeInteger(size) && size >= 0;
  const isShort = id.length <= VERSION_ID_LENGTH_MAX && etag.length <= ETAG_LENGTH_MAX;
  if (key === '' || !isSized || !isShort) throw new SourceRefused(200);
  return version;
}

/** Reads the grants of an ACL: those of the owner, of groups, and the number of the others. */
export function readGrants(
  text: string,
): { readonly groups: readonly [uri: string, permission: string][]; readonly others: number } | null {
  const root = parseXml(text, 'AccessControlPolicy');
  if (!root.ok) return null;
  const list = childOf(root.value, 'AccessControlList');
  const owner = childOf(root.value, 'Owner');
  const groups: [string, string][] = [];
  let others = 0;
  for (const grant of list ? childrenOf(list, 'Grant') : []) {
    const grantee = childOf(grant, 'Grantee');
    const uri = grantee && textOf(grantee, 'URI');
    if (uri) groups.push([uri, textOf(grant, 'Permission') ?? '']);
    else if (grantee && owner && textOf(grantee, 'ID') === textOf(owner, 'ID')) continue;
    else others++;
  }
  return { groups, others };
}
