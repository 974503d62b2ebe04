/**
 * AWS Signature Version 4 with WebCrypto, in headers and in the query (AWS, "Authenticating Requests: Using the
 * Authorization Header" and "… Using Query Parameters"). The secret never leaves this tab.
 */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Session token of a temporary key, which is sent and signed with each request. */
  sessionToken?: string;
}

export interface Target {
  method: string;
  /** Scheme, host and port: `https://host[:port]`. */
  endpoint: string;
  /** Path of the request, percent-encoded once, as it is sent. */
  path: string;
  query: Record<string, string>;
}

const REGION = 'us-east-1';
const encoder = new TextEncoder();

/** Percent-encodes all characters except the unreserved ones of RFC 3986. */
export const encodePart = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

export const encodeKey = (key: string): string => key.split('/').map(encodePart).join('/');

export function encodeQuery(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]): [string, string] => [encodePart(name), encodePart(value)])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

const toHex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

export const sha256Hex = async (data: BufferSource): Promise<string> =>
  toHex(await crypto.subtle.digest('SHA-256', data));

async function hmac(key: BufferSource, text: string): Promise<ArrayBuffer> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return crypto.subtle.sign('HMAC', imported, encoder.encode(text));
}

async function signature(secret: string, date: string, toSign: string): Promise<string> {
  const dateKey = await hmac(encoder.encode(`AWS4${secret}`), date.slice(0, 8));
  const regionKey = await hmac(dateKey, REGION);
  const serviceKey = await hmac(regionKey, 's3');
  return toHex(await hmac(await hmac(serviceKey, 'aws4_request'), toSign));
}

const toAmzDate = (now: Date): string => `${now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')}`;

async function toSignString(target: Target, headers: Record<string, string>, payload: string, date: string) {
  const names = Object.keys(headers).sort();
  const canonical = [
    target.method,
    target.path,
    encodeQuery(target.query),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    payload,
  ].join('\n');
  const scope = `${date.slice(0, 8)}/${REGION}/s3/aws4_request`;
  const hash = await sha256Hex(encoder.encode(canonical));
  return { scope, signedHeaders: names.join(';'), text: `AWS4-HMAC-SHA256\n${date}\n${scope}\n${hash}` };
}

/** Signs a request. @returns the headers to send, without `host`, which the browser sets. */
export async function signHeaders(
  credentials: Credentials,
  target: Target,
  headers: Record<string, string>,
  payloadHash: string,
  now = new Date(),
): Promise<Record<string, string>> {
  const date = toAmzDate(now);
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const token = credentials.sessionToken;
  const all = {
    ...sent,
    'x-amz-date': date,
    'x-amz-content-sha256': payloadHash,
    ...(token === undefined ? {} : { 'x-amz-security-token': token }),
  };
  const signed = { ...all, host: new URL(target.endpoint).host };
  const { scope, signedHeaders, text } = await toSignString(target, signed, payloadHash, date);
  const sign = await signature(credentials.secretAccessKey, date, text);
  return {
    ...all,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${sign}`,
  };
}

/** Makes a presigned link, which gives anyone access until it expires (at most 7 days). */
export async function presign(
  credentials: Credentials,
  target: Target,
  expiresSeconds: number,
  now = new Date(),
): Promise<string> {
  const date = toAmzDate(now);
  const query = {
    ...target.query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${credentials.accessKeyId}/${date.slice(0, 8)}/${REGION}/s3/aws4_request`,
    'X-Amz-Date': date,
    'X-Amz-Expires': String(expiresSeconds),
    'X-Amz-SignedHeaders': 'host',
    ...(credentials.sessionToken === undefined ? {} : { 'X-Amz-Security-Token': credentials.sessionToken }),
  };
  const headers = { host: new URL(target.endpoint).host };
  const { text } = await toSignString({ ...target, query }, headers, 'UNSIGNED-PAYLOAD', date);
  const sign = await signature(credentials.secretAccessKey, date, text);
  return `${target.endpoint}${target.path}?${encodeQuery(query)}&X-Amz-Signature=${sign}`;
}
