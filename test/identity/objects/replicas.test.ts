/** Tests that each kind of change is effective once it is acknowledged, even if no replica of DIRECTORY has it. */

import { env as bindings, createExecutionContext } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';
import { LateBody, makeWorld, REGIONS, type World } from '../../shared/objects/histories.ts';
import type { ReplicaFault } from '../../support/replicas.ts';
import { FORM_TYPE, signForm } from '../../support/storage/s3-form.ts';

let seed = 1_000_000;
let world: World;

beforeEach(async () => {
  world = await makeWorld({ seed: seed++ });
});

function breakReplicas(fault: ReplicaFault): void {
  for (const region of REGIONS) world.directory.setFault(region, fault);
}

const statusOf = async (token: string, name = 'fixed', region: (typeof REGIONS)[number] = 'syd') =>
  (await world.from(region)('GET', `/${world.bucket}/${name}`, token)).status;

async function change(method: string, path: string, token: string, body?: string | object): Promise<void> {
  const { status, text } = await world.from('fra')(method, path, token, body);
  expect(status, text).toBeLessThan(300);
}

it('a read works in every region while the replicas are up to date, behind and cut off', async () => {
  for (const fault of ['lags', 'stuck', 'cut off'] as const) {
    breakReplicas(fault);
    for (const region of REGIONS) expect(await statusOf(world.owner.token, 'fixed', region)).toBe(200);
  }
});

it('a bucket policy', async () => {
  breakReplicas('stuck');
  expect(await statusOf(world.guest.token)).toBe(403);
  await change('PUT', `/${world.bucket}?policy`, world.owner.token, world.policy);
  expect(await statusOf(world.guest.token)).toBe(200);
  await world.directory.catchUp();
  await change('DELETE', `/${world.bucket}?policy`, world.owner.token);
  expect(await statusOf(world.guest.token)).toBe(403);
});

it('a policy of a user, and a suspension', async () => {
  breakReplicas('stuck');
  const path = `/v1/iam/users/${world.suspect.userId}/policies/all`;
  await change('DELETE', path, world.root);
  expect(await statusOf(world.suspect.token)).toBe(403);
  await change('PUT', path, world.root, world.allow);
  expect(await statusOf(world.suspect.token)).toBe(200);
  await world.directory.catchUp();
  await change('PUT', `/v1/accounts/${world.suspect.userId}/suspension`, world.root, { reason: 'replicas' });
  expect(await statusOf(world.suspect.token)).toBe(401);
  await change('DELETE', `/v1/accounts/${world.suspect.userId}/suspension`, world.root);
  expect(await statusOf(world.suspect.token)).toBe(200);
});

it('the policies of the target bucket and of the source bucket of a copy', async () => {
  const { bucket, owner, guest, policy } = world;
  const source = `${bucket}-source`;
  await change('PUT', `/${source}`, owner.token);
  await change('PUT', `/${source}/x`, owner.token, 'copied');
  const sourcePolicy = policy.replaceAll(bucket, source);
  const copy = async (from: string) =>
    (await world.from('syd')('PUT', `/${bucket}/copy`, guest.token, undefined, { 'x-amz-copy-source': from })).status;
  await world.directory.catchUp();
  breakReplicas('stuck');
  expect(await copy(`/${bucket}/fixed`)).toBe(403);
  await change('PUT', `/${bucket}?policy`, owner.token, policy);
  expect(await copy(`/${bucket}/fixed`)).toBe(200);
  expect(await copy(`/${source}/x`)).toBe(403);
  await change('PUT', `/${source}?policy`, owner.token, sourcePolicy);
  expect(await copy(`/${source}/x`)).toBe(200);
  await world.directory.catchUp();
  expect(await copy(`/${source}/x`)).toBe(200);
  await change('DELETE', `/${source}?policy`, owner.token);
  expect(await copy(`/${source}/x`)).toBe(403);
  expect(await copy(`/${bucket}/fixed`)).toBe(200);
  // The guest wrote this copy, so the guest owns it and can read it without a policy.
  expect((await world.from('fra')('GET', `/${bucket}/copy`, guest.token)).text).toBe('first');
  await change('DELETE', `/${bucket}?policy`, owner.token);
  expect(await copy(`/${bucket}/fixed`)).toBe(403);
});

it('versioning, in the answer to a write that uses rows from before the change', async () => {
  const { bucket, owner } = world;
  breakReplicas('stuck');
  const put = () => world.from('syd')('PUT', `/${bucket}/written`, owner.token, 'small');
  expect((await put()).versionId).toBeNull();
  const on = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
  await change('PUT', `/${bucket}?versioning`, owner.token, on);
  expect((await put()).versionId).toMatch(/^[0-9a-f-]{36}$/);
});

it('rights of a writer, although the isolate has just read the rows', async () => {
  const { bucket, owner, guest, policy, root } = world;
  const send = world.from('syd');
  const write = async (token: string) => (await send('PUT', `/${bucket}/written`, token, 'small')).status;
  const list = async (token: string) => (await send('GET', `/${bucket}?list-type=2`, token)).status;
  await change('PUT', `/${bucket}?policy`, owner.token, policy);
  await world.directory.catchUp();
  breakReplicas('cut off');
  expect([await write(guest.token), await list(guest.token)]).toEqual([200, 200]);
  await change('DELETE', `/${bucket}?policy`, owner.token);
  expect([await write(guest.token), await list(guest.token)]).toEqual([403, 403]);
  await change('PUT', `/${bucket}?policy`, owner.token, policy);
  expect([await write(guest.token), await list(guest.token)]).toEqual([200, 200]);
  await change('PUT', `/v1/accounts/${guest.userId}/suspension`, root, { reason: 'replicas' });
  expect([await write(guest.token), await list(guest.token)]).toEqual([401, 401]);
});

it('an access key that signs a form, and its policy', async () => {
  const { bucket, root, suspect } = world;
  const keys = `/v1/iam/users/${suspect.userId}/access-keys`;
  const post = async (key: { access_key_id: string; secret_access_key: string }, body: string) => {
    const form = signForm({
      credentials: { accessKeyId: key.access_key_id, secretAccessKey: key.secret_access_key },
      conditions: (base) => [
        { bucket },
        { key: 'form' },
        ...Object.entries(base).map(([name, value]) => ({ [name]: value })),
      ],
      fields: { key: 'form' },
      body,
    });
    return (await world.from('syd')('POST', `/${bucket}`, '', form, { 'content-type': FORM_TYPE })).status;
  };
  const read = async () => (await world.from('fra')('GET', `/${bucket}/form`, suspect.token)).text;
  breakReplicas('stuck');
  const key = JSON.parse((await world.from('iad')('POST', keys, root, {})).text);
  expect(await post(key, 'with a new key')).toBe(204);
  await world.directory.catchUp();
  expect(await post(key, 'with a known key')).toBe(204);
  expect(await read()).toBe('with a known key');
  const path = `/v1/iam/users/${suspect.userId}/policies/all`;
  await change('DELETE', path, root);
  expect(await post(key, 'without a right')).toBe(403);
  await change('PUT', path, root, world.allow);
  expect(await post(key, 'large with a right'.repeat(2_000))).toBe(204);
  await world.directory.catchUp();
  await change('DELETE', `/v1/iam/access-keys/${key.access_key_id}`, root);
  expect(await post(key, 'with a deleted key'.repeat(2_000))).toBe(403);
  expect(await read()).toBe('large with a right'.repeat(2_000));
});

it('a deleted token, and a new one', async () => {
  const send = world.from('iad');
  const user = { name: 'second', user_id: world.owner.userId, scopes: ['objects:read'] };
  breakReplicas('stuck');
  const made = JSON.parse((await send('POST', '/v1/iam/tokens', world.root, user)).text);
  expect(await statusOf(made.token)).toBe(200);
  await world.directory.catchUp();
  expect(await statusOf(made.token)).toBe(200);
  await change('DELETE', `/v1/iam/tokens/${made.token_id}`, world.root);
  expect(await statusOf(made.token)).toBe(401);
});

it('a bucket that was deleted and made again by another user', async () => {
  const { owner, reader, from } = world;
  const path = `/${world.bucket}-again`;
  await change('PUT', path, owner.token);
  await world.directory.catchUp();
  breakReplicas('stuck');
  await change('DELETE', path, owner.token);
  expect((await from('syd')('GET', `${path}/x`, owner.token)).status).toBe(404);
  await change('PUT', path, reader.token);
  await change('PUT', `${path}/x`, reader.token, 'new');
  expect((await from('syd')('GET', `${path}/x`, owner.token)).status).toBe(403);
  expect((await from('syd')('GET', `${path}/x`, reader.token)).text).toBe('new');
});

const TAGS = '<Tagging><TagSet><Tag><Key>late</Key><Value>1</Value></Tag></TagSet></Tagging>';

it.each([
  ['a small object', 'PUT', '/late', 'small'],
  ['a large object', 'PUT', '/late', 'large'.repeat(20_000)],
  ['tags', 'PUT', '/fixed?tagging', TAGS],
  ['a bucket policy', 'PUT', '?policy', null],
  ['a list of names to delete', 'POST', '?delete', '<Delete><Object><Key>fixed</Key></Object></Delete>'],
] as const)(
  'a token that is deleted while %s arrives, which the primary authorised',
  async (_, method, path, given) => {
    const { bucket, owner, root } = world;
    const send = world.from('syd');
    const read = async () => {
      const paths = ['/late', '/fixed', '/fixed?tagging', '?policy'];
      return Promise.all(paths.map(async (each) => (await send('GET', `/${bucket}${each}`, owner.token)).status));
    };
    const user = { name: 'late', user_id: owner.userId, scopes: ['objects:read', 'objects:write'] };
    const made = JSON.parse((await send('POST', '/v1/iam/tokens', root, user)).text);
    breakReplicas('cut off');
    const before = [await read(), (await send('GET', `/${bucket}/fixed?tagging`, owner.token)).text];
    const text = given ?? world.policy;
    const body = new LateBody(text, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await change('DELETE', `/v1/iam/tokens/${made.token_id}`, root);
    });
    const headers = { 'content-md5': createHash('md5').update(text).digest('base64') };
    expect((await send(method, `/${bucket}${path}`, made.token, body, headers)).status).toBe(401);
    expect([await read(), (await send('GET', `/${bucket}/fixed?tagging`, owner.token)).text]).toEqual(before);
  },
);

it('a token at the second attempt to delete it, after the first was stored but not enforced everywhere', async () => {
  const { root, owner } = world;
  const env = bindings as unknown as Env;
  const user = { name: 'pending', user_id: owner.userId, scopes: ['objects:read'] };
  const made = JSON.parse((await world.from('syd')('POST', '/v1/iam/tokens', root, user)).text);
  await world.directory.catchUp();
  breakReplicas('stuck');
  const silent = new Proxy(env.OBJECTS_0, {
    get(target, key) {
      if (key === 'batch') return () => Promise.reject(new Error('Network connection lost'));
      const member = Reflect.get(target, key);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  const remove = (environment: Env) => {
    const request = new Request(`http://localhost/v1/iam/tokens/${made.token_id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${root}` },
    }) as Request<unknown, IncomingRequestCfProperties>;
    return worker.fetch(request, environment, createExecutionContext());
  };
  expect((await remove({ ...env, OBJECTS_0: silent })).status).toBe(503);
  expect((await remove(env)).status).toBe(404);
  expect(await statusOf(made.token)).toBe(401);
});

it('a revoked token with the scope `admin` ends at once, also while no other database knows of its revocation', async () => {
  const body = { name: 'operator', scopes: ['admin'] };
  const made = await world.from('fra')('POST', '/v1/iam/tokens', world.root, body);
  expect(made.status, made.text).toBe(201);
  const { token, token_id: id } = JSON.parse(made.text) as { token: string; token_id: string };
  await world.directory.catchUp();
  // The route is for other callers, but it knows this one.
  const use = async () => (await world.from('syd')('GET', '/v1/iam/tokens', token)).status;
  expect(await use()).toBe(403);
  breakReplicas('stuck');
  await bindings.DIRECTORY.prepare('DELETE FROM token WHERE token_id = ?1').bind(id).run();
  expect(await use()).toBe(401);
});
