/** Signs requests with Signature Version 4, written from Amazon's description, independently of the code under test. */
import { createHash, createHmac } from 'node:crypto';
import type { Credentials } from './s3-client.ts';

export interface SignerOptions {
  readonly url: string;
  readonly credentials: Credentials;
  readonly method: string;
  /** Path of the request. It may have only unreserved characters and slashes. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Headers that are signed too. Their names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Time of the signature in milliseconds since 1970 UTC. Default: now. */
  readonly signedAt?: number;
}

const UNSIGNED = 'UNSIGNED-PAYLOAD';
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const toQuery = (query: Readonly<Record<string, string>>) =>
  Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');

function sign(options: SignerOptions, amzDate: string, query: string, headers: Readonly<Record<string, string>>) {
  const names = Object.keys(headers).sort();
  const signedHeaders = names.join(';');
  const headerLines = names.map((name) => `${name}:${headers[name]}\n`).join('');
  const payload = headers['x-amz-content-sha256'] ?? UNSIGNED;
  const canonical = [options.method, options.path, query, headerLines, signedHeaders, payload].join('\n');
  const scope = `${amzDate.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const digest = createHash('sha256').update(canonical).digest('hex');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${options.credentials.secretAccessKey}`);
  return hmac(key, ['AWS4-HMAC-SHA256', amzDate, scope, digest].join('\n')).toString('hex');
}

const toAmzDate = (time: number) => `${new Date(time).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

/** Presigns a request. @returns path and query of a link that is valid for an hour. */
export function signLink(options: SignerOptions): string {
  const amzDate = toAmzDate(options.signedAt ?? Date.now());
  const headers = { host: new URL(options.url).host, ...options.headers };
  const query = toQuery({
    ...options.query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${options.credentials.accessKeyId}/${amzDate.slice(0, 8)}/us-east-1/s3/aws4_request`,
    'X-Amz-Date': amzDate,
    'X-Amz-Expires': '3600',
    'X-Amz-SignedHeaders': Object.keys(headers).sort().join(';'),
  });
  return `${options.path}?${query}&X-Amz-Signature=${sign(options, amzDate, query, headers)}`;
}

/** Signs a request in its header. @returns its path, query and headers. */
export function signRequest(options: SignerOptions): { target: string; headers: Record<string, string> } {
  const amzDate = toAmzDate(options.signedAt ?? Date.now());
  const headers = {
    host: new URL(options.url).host,
    'x-amz-content-sha256': UNSIGNED,
    'x-amz-date': amzDate,
    ...options.headers,
  };
  const query = toQuery(options.query ?? {});
  const signature = sign(options, amzDate, query, headers);
  const credential = `${options.credentials.accessKeyId}/${amzDate.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=${Object.keys(headers).sort().join(';')},Signature=${signature}`;
  return { target: query === '' ? options.path : `${options.path}?${query}`, headers: { ...headers, authorization } };
}
