/** Tests how a suspension by a check of the provider and one by an operator meet. */
import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { sealSecret } from '../../../workers/identity/secrets/secrets.ts';
import { recheckSignIns } from '../../../workers/identity/sign-in/recheck.ts';
import { bindSignIn, recordSignIn, refreshTokenSecrets } from '../../../workers/identity/sign-in/sign-ins.ts';
import { createSignInStore } from '../../../workers/identity/store/sign-in-store.ts';
import { findSuspension } from '../../../workers/identity/users/suspensions.ts';
import { requestApi } from '../../support/json-api.ts';

const ISSUER = 'https://id.corp.test';
const HOUR_MS = 3_600_000;
let count = 0;

/** Calls the API as root. */
async function call(method: string, path: string, body?: unknown) {
  const response = await requestApi(env, path, {
    method,
    headers: { authorization: `Bearer ${env.ROOT_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

/** Makes a user with an access key, bound to an account of a provider without a refresh token. */
async function makeUser(now: number) {
  count += 1;
  const { body } = await call('POST', '/v1/iam/users', { name: `user ${count}` });
  const proof = {
    issuer: ISSUER,
    subject: `subject ${count}`,
    email: null,
    isEmailVerified: false,
    name: null,
    hostedDomain: null,
    groups: [],
    refreshToken: null,
    sid: null,
    authenticatedAt: null,
  };
  expect(await bindSignIn(env, proof, { kind: 'user', ownerId: body.user_id }, { now, audit: null })).toBe(true);
  return { userId: body.user_id as string, proof };
}
const codeOf = async (userId: string) => (await findSuspension(env, userId))?.code ?? null;

it('an account without a refresh token stops when its check is due, and the next sign-in starts it', async () => {
  const now = Date.now();
  const { userId, proof } = await makeUser(now);
  await recheckSignIns(env, now + HOUR_MS - 1);
  expect(await codeOf(userId)).toBeNull();
  await recheckSignIns(env, now + HOUR_MS);
  expect(await codeOf(userId)).toBe('sign_in_again');
  await recheckSignIns(env, now + 2 * HOUR_MS);
  await recordSignIn(env, 'user', proof, now + 2 * HOUR_MS);
  expect(await codeOf(userId)).toBeNull();
});

it('a sign-in lifts no suspension of an operator, not even one that follows a check', async () => {
  const now = Date.now();
  const { userId, proof } = await makeUser(now);
  const path = `/v1/accounts/${userId}/suspension`;
  expect((await call('PUT', path, { reason: 'spam' })).status).toBe(200);
  await recheckSignIns(env, now + HOUR_MS);
  await recordSignIn(env, 'user', proof, now + HOUR_MS);
  expect(await codeOf(userId)).toBe('account_suspended');
  expect((await call('DELETE', path)).status).toBe(204);
  expect(await codeOf(userId)).toBeNull();
  // The check suspends first, then the operator.
  await recheckSignIns(env, now + 3 * HOUR_MS);
  expect(await codeOf(userId)).toBe('sign_in_again');
  expect((await call('PUT', path, { reason: 'spam' })).status).toBe(200);
  await recordSignIn(env, 'user', proof, now + 3 * HOUR_MS);
  expect(await codeOf(userId)).toBe('account_suspended');
});

it('one account of a provider opens one user, and one user has one account of it', async () => {
  const now = Date.now();
  const { userId, proof } = await makeUser(now);
  const other = await makeUser(now);
  const bind = (subject: string, ownerId: string) =>
    bindSignIn(env, { issuer: ISSUER, subject }, { kind: 'user', ownerId }, { now, audit: null });
  expect(await bind(proof.subject, other.userId)).toBe(false);
  expect(await bind('another subject', userId)).toBe(false);
  expect((await call('DELETE', `/v1/iam/users/${userId}`)).status).toBe(204);
  expect(await createSignInStore(env.DIRECTORY).listOf('user', userId)).toEqual([]);
});

it('refresh tokens are sealed again when MASTER_KEY changes', async () => {
  const now = Date.now();
  const { proof } = await makeUser(now);
  const key = { issuer: proof.issuer, subject: proof.subject, kind: 'user' } as const;
  await recordSignIn(env, 'user', { ...proof, refreshToken: 'a refresh token' }, now);
  const rows = await refreshTokenSecrets.list(env, '', 100);
  const row = rows.find(({ key: text }) => text === `user ${proof.issuer} ${proof.subject}`);
  const again = sealSecret('a refresh token', row?.context ?? '', env);
  await refreshTokenSecrets.replace(env, row?.key ?? '', row?.sealed ?? '', again);
  expect((await createSignInStore(env.DIRECTORY).find(key))?.refreshSealed).toBe(again);
});
