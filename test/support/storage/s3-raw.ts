/** Sends handwritten S3 requests, for tests of bytes that a client library would hide. */
import { createHash, createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import type { Credentials } from './s3-client.ts';

export interface Raw {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;
}

/** Sends a request without normalizing the path, adding headers or decoding the response body. */
export function sendRaw(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: Buffer | string,
): Promise<Raw> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    // A server may refuse a long body before it has arrived, and close the connection after its answer.
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') reject(error);
    });
    request.on('close', () => reject(new Error('the connection was closed without an answer')));
    request.end(body);
  });
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();

/** Signs a chunked upload. Implemented from Amazon's description of sigv4-streaming, independently of the code under test. */
export function encodeSignedChunks(
  url: string,
  owner: Credentials,
  path: string,
  chunks: readonly Buffer[],
  decodedLength = Buffer.concat(chunks).length,
) {
  const amzDate = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${amzDate.slice(0, 8)}/any-region/s3/aws4_request`;
  const key = scope.split('/').reduce<string | Buffer>((k, part) => hmac(k, part), `AWS4${owner.secretAccessKey}`);
  const headers: Record<string, string> = {
    host: new URL(url).host,
    'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
    'x-amz-date': amzDate,
    'x-amz-decoded-content-length': String(decodedLength),
  };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = `PUT\n${path}\n\n${lines.join('')}\n${names}\n${headers['x-amz-content-sha256']}`;
  const sign = (text: string) => hmac(key as Buffer, text).toString('hex');
  let signature = sign(`AWS4-HMAC-SHA256\n${amzDate}\n${scope}\n${sha256(canonical)}`);
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${owner.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  const body = [...chunks, Buffer.alloc(0)].map((chunk) => {
    signature = sign(`AWS4-HMAC-SHA256-PAYLOAD\n${amzDate}\n${scope}\n${signature}\n${sha256('')}\n${sha256(chunk)}`);
    const head = `${chunk.length.toString(16)};chunk-signature=${signature}\r\n`;
    return Buffer.concat([Buffer.from(head), chunk, Buffer.from('\r\n')]);
  });
  return { headers, body: Buffer.concat(body) };
}
