/**
 * Requests to the S3 location: a bucket of another provider that has a copy of everything in the R2 locations. Any S3 server serves that
 * has range reads, Content-MD5, conditional PutObject, and ListObjectsV2 in the order of UTF-8 (`npm run deploy` tries them).
 *
 * Keys are those of R2 below a prefix. Below `.tessera/` are the id of the installation, records of deletions, and descriptions that
 * are too long for a header. Bodies are streamed and not signed; the server compares them with Content-MD5.
 */
import { AwsClient } from 'aws4fetch';
import { XMLParser } from 'fast-xml-parser';
import { settingsOf } from '../settings/settings.ts';

/** Prefix of the keys of the S3 location that no R2 location has. */
export const OWN_PREFIX = '.tessera/';

/** Time limit of a request without a large body. */
const REQUEST_MS = 30_000;
/** Time limit of a transfer. The largest blob has 1 GiB. */
export const TRANSFER_MS = 900_000;
/** S3 allows 2 KB of user metadata. */
const DESCRIPTION_HEADER_BYTES_MAX = 1_800;
const DESCRIPTION = 'x-amz-meta-tessera';
/** Value of the header if the description is an object of its own. */
const ASIDE = 'aside';

export interface S3LocationAddress {
  readonly endpoint: string;
  /** `s3://bucket` or `s3://bucket/prefix`. */
  readonly url: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** What R2 keeps of an object besides its bytes. */
export interface Description {
  readonly http: R2HTTPMetadata;
  readonly custom: Record<string, string>;
  /** MD5 of the bytes in hexadecimal digits; null if R2 has none. */
  readonly md5: string | null;
  /** SHA-256 in hexadecimal digits, of objects whose writer gave it: R2 keeps it, and readers compare it. */
  readonly sha256?: string;
}

export interface ListedObject {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  /** Milliseconds since 1970 UTC, by the clock of the server. */
  readonly storedAt: number;
}

export interface ListedPage {
  readonly objects: readonly ListedObject[];
  readonly isLast: boolean;
}

export class S3LocationError extends Error {
  readonly status: number;
  constructor(what: string, status: number, body: string) {
    super(`the S3 location answered ${what} with ${status} ${/<Code>(\w+)/.exec(body)?.[1] ?? ''}`.trim());
    this.status = status;
  }
}

const parser = new XMLParser({ parseTagValue: false, isArray: (name) => name === 'Contents', processEntities: true });

/** The address of the S3 location in the settings; null if there is none, or it is incomplete (health names what is missing). */
export function s3LocationAddressOf(env: Env): S3LocationAddress | null {
  const settings = settingsOf(env);
  const { S3_LOCATION: url, S3_LOCATION_ENDPOINT: endpoint, S3_LOCATION_REGION: region } = settings;
  const { S3_LOCATION_KEY_ID: accessKeyId, S3_LOCATION_SECRET: secretAccessKey } = settings;
  if (url === '' || endpoint === '' || accessKeyId === '' || secretAccessKey === '') return null;
  return { url, endpoint, region, accessKeyId, secretAccessKey };
}

export class S3Location {
  readonly #client: AwsClient;
  readonly #base: string;
  readonly #prefix: string;

  constructor({ endpoint, url, region, accessKeyId, secretAccessKey }: S3LocationAddress) {
    const [bucket = '', ...folders] = url.slice('s3://'.length).split('/').filter(Boolean);
    this.#client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });
    this.#base = `${endpoint.replace(/\/+$/, '')}/${bucket}`;
    this.#prefix = folders.map((folder) => `${folder}/`).join('');
  }

  async #send(what: string, target: string, init: RequestInit & { timeoutMs?: number }): Promise<Response> {
    const { timeoutMs = REQUEST_MS, ...request } = init;
    const signal = AbortSignal.timeout(timeoutMs);
    return this.#client
      .fetch(this.#base + target, { ...request, redirect: 'manual', signal })
      .catch((error: unknown) => {
        throw new Error(`the S3 location did not answer ${what}: ${String(error)}`);
      });
  }

  /**
   * Sends a request whose answer the caller reads, whatever its status. Redirects are answers too.
   * @param request its `key` is absent in requests to the bucket.
   */
  async request(
    what: string,
    request: {
      readonly key?: string;
      readonly query?: Readonly<Record<string, string>>;
      readonly headers?: Readonly<Record<string, string>>;
      readonly timeoutMs?: number;
    },
  ): Promise<Response> {
    const { key, query = {}, headers = {}, timeoutMs = REQUEST_MS } = request;
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    const target = (key === undefined ? '' : this.#pathOf(key)) + (search === '' ? '' : `?${search}`);
    return this.#send(what, target, { method: 'GET', headers, timeoutMs });
  }

  #pathOf(key: string): string {
    return `/${(this.#prefix + key).split('/').map(encodeURIComponent).join('/')}`;
  }

  /** Lists at most 1,000 keys after `after`, in the order of UTF-8. @param within keys begin with it. */
  async list(after: string, within = '', limit = 1_000): Promise<ListedPage> {
    const query = new URLSearchParams({
      'list-type': '2',
      'max-keys': String(limit),
      prefix: this.#prefix + within,
      ...(after === '' ? {} : { 'start-after': this.#prefix + after }),
      'encoding-type': 'url',
    });
    const answer = await this.#send('a listing', `?${query.toString().replaceAll('+', '%20')}`, { method: 'GET' });
    const body = await answer.text();
    if (!answer.ok) throw new S3LocationError('a listing', answer.status, body);
    const result = (parser.parse(body) as ListingXml).ListBucketResult;
    const isEncoded = result?.EncodingType === 'url';
    const objects = (result?.Contents ?? []).map(({ Key, Size, ETag, LastModified }) => ({
      key: (isEncoded ? decodeURIComponent(Key.replaceAll('+', '%20')) : Key).slice(this.#prefix.length),
      size: Number(Size),
      etag: ETag.replaceAll(/"|&quot;/g, ''),
      storedAt: Date.parse(LastModified),
    }));
    return { objects, isLast: result?.IsTruncated !== 'true' };
  }

  /** Opens an object for reading. @returns null if it does not exist. */
  async get(key: string, range?: string): Promise<Response | null> {
    const headers = range === undefined ? {} : { range };
    const answer = await this.#send('a read', this.#pathOf(key), { method: 'GET', headers, timeoutMs: TRANSFER_MS });
    if (answer.status === 404) {
      await answer.body?.cancel();
      return null;
    }
    if (!answer.ok) throw new S3LocationError('a read', answer.status, await answer.text());
    return answer;
  }

  async getText(key: string): Promise<string | null> {
    return (await (await this.get(key))?.text()) ?? null;
  }

  /**
   * Stores an object. The server refuses it if the bytes that arrive have another MD5.
   * @param onlyIfNew stores it only if the key does not exist. @returns false if it existed.
   */
  async put(
    key: string,
    body: ReadableStream | ArrayBuffer | string,
    options: { readonly md5?: string | null; readonly description?: string; readonly onlyIfNew?: boolean } = {},
  ): Promise<boolean> {
    const { md5 = null, description, onlyIfNew } = options;
    const headers: Record<string, string> = {
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      ...(md5 === null ? {} : { 'content-md5': Buffer.from(md5, 'hex').toString('base64') }),
      ...(description === undefined ? {} : { [DESCRIPTION]: description }),
      ...(onlyIfNew ? { 'if-none-match': '*' } : {}),
    };
    const timeoutMs = body instanceof ReadableStream ? TRANSFER_MS : REQUEST_MS;
    const answer = await this.#send('a write', this.#pathOf(key), { method: 'PUT', headers, body, timeoutMs });
    const text = await answer.text();
    if (answer.status === 412 && onlyIfNew) return false;
    if (!answer.ok) throw new S3LocationError('a write', answer.status, text);
    return true;
  }

  /** Stores an object in parts. Of several parts, each but the last must have 5 MiB. */
  async putInParts(key: string, parts: readonly string[]): Promise<void> {
    const path = this.#pathOf(key);
    const send = async (what: string, query: string, method: string, body = '') => {
      const answer = await this.#send(what, `${path}?${query}`, { method, body });
      const text = await answer.text();
      // CompleteMultipartUpload may answer an error with 200.
      if (!answer.ok || text.includes('<Error>')) throw new S3LocationError(what, answer.status, text);
      return { text, etag: answer.headers.get('etag') ?? '' };
    };
    const { text } = await send('the start of an upload in parts', 'uploads=', 'POST');
    const upload = `uploadId=${encodeURIComponent(/<UploadId>([^<]+)</.exec(text)?.[1] ?? '')}`;
    let list = '';
    for (const [at, part] of parts.entries()) {
      const { etag } = await send('a part', `partNumber=${at + 1}&${upload}`, 'PUT', part);
      list += `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`;
    }
    const document = `<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`;
    await send('the end of an upload in parts', upload, 'POST', document);
  }

  /** Stores an R2 object with its description. */
  async putDescribed(key: string, body: ReadableStream | ArrayBuffer, description: Description): Promise<void> {
    const text = Buffer.from(JSON.stringify(description)).toString('base64url');
    const isAside = text.length > DESCRIPTION_HEADER_BYTES_MAX;
    if (isAside) await this.put(`${OWN_PREFIX}description/${key}`, text);
    await this.put(key, body, { md5: description.md5, description: isAside ? ASIDE : text });
  }

  /** Reads the description of an object that `get` answered. */
  async readDescription(key: string, answer: Response): Promise<Description> {
    const header = answer.headers.get(DESCRIPTION);
    const text = header === ASIDE ? await this.getText(`${OWN_PREFIX}description/${key}`) : header;
    if (!text) throw new Error(`the S3 location has no description of ${key}`);
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Description;
  }

  async delete(key: string): Promise<void> {
    const answer = await this.#send('a delete', this.#pathOf(key), { method: 'DELETE' });
    const text = await answer.text();
    if (!answer.ok && answer.status !== 404) throw new S3LocationError('a delete', answer.status, text);
  }
}

interface ListingXml {
  readonly ListBucketResult?: {
    readonly EncodingType?: string;
    readonly IsTruncated?: string;
    readonly Contents?: readonly {
      readonly Key: string;
      readonly Size: string;
      readonly ETag: string;
      readonly LastModified: string;
    }[];
  };
}
