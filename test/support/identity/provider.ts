/// <reference path="./oidc-provider.d.ts" />
/**
 * A real OpenID Connect provider (`oidc-provider`) on loopback, for tests. Its accounts can be changed and ended, and what it answers
 * can be falsified on the way out.
 */
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import { freePort, type TestServer } from '../server.ts';

export const CLIENT_ID = 'tessera';
export const CLIENT_SECRET = 'a+secret/of:the%provider';

export type Claims = Record<string, unknown>;
interface Key {
  readonly jwk: JWK;
  readonly kid: string;
  readonly privateKey: CryptoKey;
}

async function makeKey(kid: string): Promise<Key> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' } };
}

export interface TestProvider {
  readonly issuer: string;
  /** Claims of the accounts, by subject. An account that is deleted has ended. */
  readonly accounts: Map<string, Claims>;
  /** Variables of a server that signs in here. */
  readonly vars: Readonly<Record<string, string>>;
  /** Changes the claims of each ID token before it leaves; null leaves them. */
  falsify: ((claims: Claims) => Claims) | null;
  /** Changes the metadata before it leaves; null leaves it. */
  falsifyMetadata: ((metadata: Claims) => Claims) | null;
  /** Whether the provider publishes its new key, besides the old one. */
  isRotated: boolean;
  /** Key that signs falsified ID tokens: the provider's own, or one that nobody published. */
  signWith: 'own' | 'foreign' | 'rotated';
  /** Makes a log-out token. */
  logOutToken(claims: Claims): Promise<string>;
  /** Signs any token, as the provider does or with a key of a stranger. */
  sign(claims: Claims, typ?: string, key?: 'own' | 'foreign' | 'rotated'): Promise<string>;
  stop(): Promise<void>;
}

const decode = (token: string): Claims =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;

const toPublic = ({ kty, n, e, kid, alg, use }: JWK): JWK => ({ kty, n, e, kid, alg, use }) as JWK;

const toConfiguration = (appUrl: string, key: Key, accounts: ReadonlyMap<string, Claims>): object => ({
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [`${appUrl}/v1/auth/oidc/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      backchannel_logout_uri: `${appUrl}/v1/auth/oidc/logout`,
      backchannel_logout_session_required: true,
    },
  ],
  jwks: { keys: [key.jwk] },
  cookies: { keys: ['a key of the cookies of the test'] },
  claims: {
    openid: ['sub', 'sid', 'auth_time'],
    email: ['email', 'email_verified'],
    profile: ['name', 'groups', 'hd'],
  },
  features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
  pkce: { required: () => true },
  conformIdTokenClaims: false,
  ttl: {
    AccessToken: 3600,
    IdToken: 86_400,
    RefreshToken: 86_400,
    Session: 86_400,
    Grant: 86_400,
    Interaction: 3600,
  },
  issueRefreshToken: async (_context: unknown, _client: unknown, code: { scopes: Set<string> }) =>
    code.scopes.has('offline_access'),
  findAccount: async (_context: unknown, subject: string) => {
    const claims = accounts.get(subject);
    return claims && { accountId: subject, claims: async () => ({ sub: subject, ...claims }) };
  },
});

/**
 * Starts a provider.
 * @param appUrl URL of Tessera, which must be known before it starts.
 * @param host `localhost` makes it another site than Tessera's, for cookies.
 */
export async function startProvider(appUrl: string, host = '127.0.0.1'): Promise<TestProvider> {
  const port = await freePort();
  const issuer = `http://${host}:${port}`;
  const keys = { own: await makeKey('own'), foreign: await makeKey('own'), rotated: await makeKey('rotated') };
  const accounts = new Map<string, Claims>();
  const provider = new Provider(issuer, toConfiguration(appUrl, keys.own, accounts));
  const sign = (claims: Claims, typ = 'JWT', key: 'own' | 'foreign' | 'rotated' = 'own') =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: keys[key].kid, typ }).sign(keys[key].privateKey);
  const now = () => Math.floor(Date.now() / 1000);
  const self: TestProvider = {
    issuer,
    accounts,
    vars: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_NAME: 'Example Inc',
      // This provider gives a refresh token only if it asked for consent (OpenID Connect Core §11).
      OIDC_PARAMETERS: 'prompt=consent',
    },
    falsify: null,
    falsifyMetadata: null,
    isRotated: false,
    signWith: 'own',
    sign,
    logOutToken: (claims) =>
      sign(
        {
          iss: issuer,
          aud: CLIENT_ID,
          iat: now(),
          exp: now() + 120,
          jti: crypto.randomUUID(),
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
          ...claims,
        },
        'logout+jwt',
      ),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  provider.use(async (context, next) => {
    await next();
    const { body } = context;
    if (context.oidc?.route === 'token' && self.falsify !== null && typeof body?.id_token === 'string') {
      context.body = { ...body, id_token: await sign(self.falsify(decode(body.id_token)), 'JWT', self.signWith) };
    }
    if (context.path.endsWith('/openid-configuration') && self.falsifyMetadata !== null)
      context.body = self.falsifyMetadata(body);
    if (context.oidc?.route === 'jwks' && self.isRotated)
      context.body = { keys: [toPublic(keys.own.jwk), toPublic(keys.rotated.jwk)] };
    // Addresses behind Cloudflare Access have their keys here.
    if (context.path === '/cdn-cgi/access/certs') context.body = { keys: [toPublic(keys.own.jwk)] };
  });
  const server = createServer(provider.callback());
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return self;
}

/** A browser without a screen: follows redirects, keeps cookies of each host apart, and logs in at the provider. */
export class Visitor {
  readonly #cookies = new Map<string, Map<string, string>>();
  readonly #server: Pick<TestServer, 'url'>;

  constructor(server: Pick<TestServer, 'url'>) {
    this.#server = server;
  }

  #jar(url: string): Map<string, string> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    return jar;
  }

  cookie(name: string): string | undefined {
    return this.#jar(this.#server.url).get(name);
  }

  setCookie(name: string, value: string): void {
    this.#jar(this.#server.url).set(name, value);
  }

  /** Sends a request with the cookies of its host, and keeps those that come back. Follows no redirect. */
  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.#jar(url);
    const headers = new Headers(init.headers);
    if (jar.size > 0) headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const text of response.headers.getSetCookie()) {
      const [pair = ''] = text.split(';');
      const at = pair.indexOf('=');
      const value = pair.slice(at + 1);
      if (value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(text)) jar.delete(pair.slice(0, at));
      else jar.set(pair.slice(0, at), value);
    }
    return response;
  }

  /** Calls Tessera as its own page does. */
  async post(path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await this.fetch(`${this.#server.url}${path}`, {
      method: 'POST',
      headers: {
        origin: this.#server.url,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text, headers: response.headers };
  }

  async begin(purpose: string): Promise<string> {
    const { status, body } = await this.post('/v1/auth/oidc', { purpose });
    if (status !== 200) throw new Error(`begin: ${status} ${JSON.stringify(body)}`);
    return body.url;
  }

  /** Goes through the provider's pages. @returns the URL of the callback, which was not opened. */
  async authorize(url: string, subject: string): Promise<string> {
    let next = url;
    for (let steps = 0; steps < 20; steps++) {
      const response = await this.fetch(next);
      const location = response.headers.get('location');
      if (location !== null) {
        next = new URL(location, next).href;
        if (next.startsWith(this.#server.url)) return next;
        continue;
      }
      const page = await response.text();
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
      if (prompt === undefined) throw new Error(`the provider has no form: ${response.status} ${page.slice(0, 500)}`);
      const form = new URLSearchParams({ prompt, login: subject, password: 'any' });
      const action = /action="([^"]+)"/.exec(page)?.[1] ?? next;
      const sent = await this.fetch(new URL(action, next).href, { method: 'POST', body: form });
      next = new URL(sent.headers.get('location') ?? '', next).href;
    }
    throw new Error('the provider leads nowhere');
  }

  /** Opens the callback. @returns the page to which it leads. */
  async callback(url: string): Promise<string> {
    const response = await this.fetch(url);
    return response.headers.get('location') ?? `status ${response.status}`;
  }

  /** A whole sign-in up to the page that takes the proof. */
  async signIn(purpose: string, subject: string): Promise<string> {
    return this.callback(await this.authorize(await this.begin(purpose), subject));
  }
}
