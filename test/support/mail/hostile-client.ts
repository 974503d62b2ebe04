/** An OAuth client on loopback that publishes hostile documents, and the requests that it sends. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { ApiAnswer, TestServer } from '../server.ts';
import { confirmSession, type MailUser } from './mail.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents of any form
type Json = any;
type Serve = (response: ServerResponse, self: string) => void;

const PADDING = 20_000_000;
const toDocument = (self: string, more: Json = {}): Json => ({
  client_id: self,
  client_name: 'Hostile',
  redirect_uris: [
    'https://client.far.test/cb',
    'http://127.0.0.1/cb',
    'http://localhost:3000/cb?x=1',
    'com.far.app:/cb',
  ],
  ...more,
});
const asJson =
  (value: unknown, headers: Record<string, string> = {}): Serve =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
const withMore =
  (more: Json): Serve =>
  (response, self) =>
    asJson(toDocument(self, more))(response, self);

/** Documents by path. All but `/good.json` and `/named.json` must be refused. */
const DOCUMENTS: Readonly<Record<string, Serve>> = {
  '/good.json': withMore({}),
  '/named.json': withMore({ client_name: `\u202eknab ruoY\u202c\u0000\n\u200b${'x'.repeat(500)}` }),
  '/moved.json': (response) => void response.writeHead(302, { location: '/good.json' }).end(),
  '/moved-inside.json': (response) => void response.writeHead(307, { location: '/secret' }).end(),
  '/large.json': withMore({ padding: 'x'.repeat(6_000) }),
  '/bomb.json': (response, self) =>
    void response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(gzipSync(JSON.stringify(toDocument(self, { padding: ' '.repeat(PADDING) })))),
  '/endless.json': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 300);
    response.on('close', () => clearInterval(timer));
  },
  '/silent.json': () => undefined,
  '/array.json': asJson([]),
  '/null.json': asJson(null),
  '/text.json': (response, self) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(toDocument(self))),
  '/missing.json': (response) => void response.writeHead(404).end('{}'),
  '/broken.json': (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"client_id":'),
  '/other.json': withMore({ client_id: 'https://other.far.test/client.json' }),
  '/number.json': withMore({ client_id: 1 }),
  '/no-redirects.json': withMore({ redirect_uris: [] }),
  '/redirects-text.json': withMore({ redirect_uris: 'https://client.far.test/cb' }),
  '/secret-client.json': withMore({ token_endpoint_auth_method: 'client_secret_basic' }),
};
export const REFUSED_DOCUMENTS = Object.keys(DOCUMENTS).filter((path) => !/^\/(?:good|named)\./.test(path));

export async function startHostileClient() {
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    asked.push(`${request.method} ${path}`);
    const serve = DOCUMENTS[path];
    if (serve) serve(response, `${origin}${path}`);
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    asked,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const newVerifier = (): string => randomBytes(32).toString('base64url');
const toChallenge = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url');

export const REDIRECT = 'https://client.far.test/cb';

/** What a client does, and what its person does for it. */
export class Connector {
  readonly server: TestServer;
  readonly clientId: string;

  constructor(server: TestServer, origin: string) {
    this.server = server;
    this.clientId = `${origin}/good.json`;
  }

  toQuery(verifier: string, more: Readonly<Record<string, string | null>> = {}): string {
    const all = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: REDIRECT,
      code_challenge: toChallenge(verifier),
      code_challenge_method: 'S256',
      state: 'secret-state-of-the-client',
      ...more,
    };
    return new URLSearchParams(
      Object.entries(all).filter((one): one is [string, string] => one[1] !== null),
    ).toString();
  }

  ask(user: MailUser, query: string): Promise<ApiAnswer> {
    return this.server.call('POST', '/v1/me/connection-requests', { query }, user.token);
  }

  /** @returns the code of a connection that the person approved. */
  async approve(
    user: MailUser,
    verifier: string,
    scopes: readonly string[] = ['mail:read', 'mail:draft'],
  ): Promise<string> {
    await confirmSession(this.server, user.token);
    const { body } = await this.ask(user, this.toQuery(verifier));
    const approved = await this.server.call(
      'POST',
      '/v1/me/connections',
      { request: body.consent?.request, scopes },
      user.token,
    );
    expect(approved.status, JSON.stringify(approved.body)).toBe(201);
    return new URL(approved.body.redirect_to).searchParams.get('code') ?? '';
  }

  async requestToken(form: Readonly<Record<string, string | null>> | string): Promise<{ status: number; body: Json }> {
    const body =
      typeof form === 'string'
        ? form
        : new URLSearchParams(
            Object.entries(form).filter((one): one is [string, string] => one[1] !== null),
          ).toString();
    const response = await fetch(`${this.server.url}/v1/oauth/token`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        // Failed requests of one address are limited, which is not what these tests attack.
        'cf-connecting-ip': `10.${randomBytes(3).join('.')}`,
      },
      body,
    });
    return { status: response.status, body: await response.json() };
  }

  redeem(code: string, verifier: string, more: Readonly<Record<string, string | null>> = {}) {
    const form = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      client_id: this.clientId,
      redirect_uri: REDIRECT,
    };
    return this.requestToken({ ...form, ...more });
  }

  refresh(refreshToken: string, more: Readonly<Record<string, string | null>> = {}) {
    return this.requestToken({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: this.clientId,
      ...more,
    });
  }

  async connect(
    user: MailUser,
    scopes?: readonly string[],
  ): Promise<{ access: string; refresh: string; code: string }> {
    const verifier = newVerifier();
    const code = await this.approve(user, verifier, scopes);
    const { status, body } = await this.redeem(code, verifier);
    expect(status, JSON.stringify(body)).toBe(200);
    return { access: body.access_token, refresh: body.refresh_token, code };
  }

  async opens(access: string): Promise<number> {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const response = await fetch(`${this.server.url}/v1/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${access}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(ping),
    });
    await response.body?.cancel();
    return response.status;
  }
}
