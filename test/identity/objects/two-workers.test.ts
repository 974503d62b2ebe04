/** The lease of a check of a sign-in, with a worker that is too late (`two-workers.ts`), at a provider that rotates refresh tokens. */
import { env as bindings } from 'cloudflare:test';
import { afterEach, expect, it, vi } from 'vitest';
import { openSecret } from '../../../workers/identity/secrets/secrets.ts';
import { recheck, recheckSignIns } from '../../../workers/identity/sign-in/recheck.ts';
import { bindSignIn, refreshContextOf } from '../../../workers/identity/sign-in/sign-ins.ts';
import { createSignInStore } from '../../../workers/identity/store/sign-in-store.ts';
import { findSuspension } from '../../../workers/identity/users/suspensions.ts';
import { requestApi } from '../../support/json-api.ts';
import { wrapEnvironment } from '../../support/platform/wrap-bindings.ts';
import { expectLateWorkerHarmless, type Intercept } from '../../support/two-workers.ts';

const ISSUER = 'https://rotating.corp.test';
const HOUR_MS = 3_600_000;
const OIDC = { OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: 'tessera', OIDC_CLIENT_SECRET: 'secret' };

afterEach(() => void vi.restoreAllMocks());

/** A provider whose refresh tokens work once. */
class RotatingProvider {
  token = 'token 0';
  intercept: Intercept = (_, call) => call();

  readonly fetch = async (url: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    const answer = (status: number, body: unknown) => Response.json(body, { status });
    if (pathname.startsWith('/.well-known/')) {
      const at = (path: string) => `${ISSUER}/${path}`;
      const endpoints = { authorization_endpoint: at('start'), token_endpoint: at('token'), jwks_uri: at('keys') };
      return answer(200, { issuer: ISSUER, ...endpoints });
    }
    return this.intercept('token', async () => {
      if (new URLSearchParams(String(init?.body)).get('refresh_token') !== this.token) {
        return answer(400, { error: 'invalid_grant' });
      }
      this.token = `token ${Number(this.token.split(' ')[1]) + 1}`;
      return answer(200, { access_token: 'access', token_type: 'bearer', refresh_token: this.token });
    });
  };
}

async function makeScene() {
  const provider = new RotatingProvider();
  vi.spyOn(globalThis, 'fetch').mockImplementation(provider.fetch);
  const env = { ...bindings, ...OIDC } as unknown as Env;
  const now = Date.now();
  const subject = crypto.randomUUID();
  const response = await requestApi(bindings, '/v1/iam/users', {
    method: 'POST',
    headers: { authorization: `Bearer ${bindings.ROOT_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ann' }),
  });
  const { user_id: userId } = (await response.json()) as { user_id: string };
  const proof = { issuer: ISSUER, subject, email: null, isEmailVerified: false, name: null, hostedDomain: null };
  const rest = { groups: [], refreshToken: provider.token, sid: null, authenticatedAt: null };
  const owner = { kind: 'user', ownerId: userId } as const;
  expect(await bindSignIn(env, { ...proof, ...rest }, owner, { now, audit: null })).toBe(true);
  return {
    env,
    provider,
    userId,
    key: { issuer: ISSUER, subject, kind: 'user' as const },
    clock: { now: now + HOUR_MS },
    isTokenLost: false,
  };
}

/** @returns the stored refresh token; null if there is none */
async function readToken({ env, key }: Awaited<ReturnType<typeof makeScene>>): Promise<string | null> {
  const row = await createSignInStore(env.DIRECTORY).find(key);
  const opened = openSecret(row?.refreshSealed ?? '', refreshContextOf(key), env);
  return opened.ok ? opened.value : null;
}

it('a late check of a sign-in pauses nobody whom another check confirmed', async () => {
  const cases = await expectLateWorkerHarmless({
    makeScene,
    work: async ({ env, provider, clock }, intercept) => {
      const before = provider.intercept;
      provider.intercept = intercept;
      const { DIRECTORY } = wrapEnvironment({ DIRECTORY: env.DIRECTORY }, (call, run) => intercept(call.method, run));
      await recheckSignIns({ ...env, DIRECTORY } as Env, clock.now).finally(() => {
        provider.intercept = before;
      });
    },
    expire: async (scene) => {
      scene.clock.now += HOUR_MS;
      scene.isTokenLost ||= (await readToken(scene)) !== scene.provider.token;
    },
    check: async (scene, where) => {
      // If the new token is on its way to a late worker, no other one can ask: the person signs in again.
      const code = (await findSuspension(scene.env, scene.userId))?.code ?? null;
      expect(code, where).toBe(scene.isTokenLost ? 'sign_in_again' : null);
      if (!scene.isTokenLost) expect(await readToken(scene), where).toBe(scene.provider.token);
    },
  });
  expect(cases).toBeGreaterThan(6);
});

it('two checks that have read the same row use its refresh token once', async () => {
  const { env, provider, userId, key, clock } = await makeScene();
  let asked = 0;
  provider.intercept = (_, call) => {
    asked++;
    return call();
  };
  const row = await createSignInStore(env.DIRECTORY).find(key);
  if (row === null) throw new Error('there is no sign-in');
  await Promise.all([recheck(env, row, clock.now), recheck(env, row, clock.now)]);
  expect(asked).toBe(1);
  expect(await findSuspension(env, userId)).toBeNull();
});
