/** A push service on loopback, and a device that decrypts the pushes with the library `http_ece`. */
import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './mail.ts';

export interface ReceivedPush {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Starts the push service, which collects the received pushes. @param status answers each push. */
export async function startPushService(status = 201) {
  const received: ReceivedPush[] = [];
  const service = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/push`;
  const next = (what: string): Promise<ReceivedPush> => until(what, async () => received.shift());
  return { url, received, next, [Symbol.asyncDispose]: async () => void service.close() };
}

/** `http_ece` has no types. TypeScript does not resolve an import whose name is in a variable. */
const LIBRARY: string = 'http_ece';
interface Decrypter {
  decrypt(body: Buffer, options: { version: string; privateKey: object; authSecret: string }): Buffer;
}

/** A device with its own keys (RFC 8291). */
export async function makeDevice() {
  const { default: ece } = (await import(LIBRARY)) as { default: Decrypter };
  const privateKey = createECDH('prime256v1');
  privateKey.generateKeys();
  const authSecret = randomBytes(16).toString('base64url');
  return {
    keys: { p256dh: privateKey.getPublicKey('base64url'), auth: authSecret },
    // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
    read: ({ body }: ReceivedPush): any =>
      JSON.parse(ece.decrypt(body, { version: 'aes128gcm', privateKey, authSecret }).toString()),
  };
}

/** Verifies the signature of a push (RFC 8292). @returns its key and claims. @throws if the signature is wrong. */
export function readVapid({ headers }: ReceivedPush): {
  key: string;
  claims: { aud: string; exp: number; sub: string };
} {
  const [, token = '', key = ''] = /^vapid t=(\S+), k=(\S+)$/.exec(headers.authorization ?? '') ?? [];
  const point = Buffer.from(key, 'base64url');
  const part = (from: number) => point.subarray(from, from + 32).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: part(1), y: part(33) }, format: 'jwk' });
  const [head, claims = '', signature = ''] = token.split('.');
  const signed = Buffer.from(`${head}.${claims}`);
  if (!verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url')))
    throw new Error('the signature is wrong');
  return { key, claims: JSON.parse(Buffer.from(claims, 'base64url').toString()) };
}
