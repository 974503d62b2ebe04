/** Each kind of change is effective with its acknowledgement, although no replica of DIRECTORY has it. */
import { beforeEach, expect, it } from 'vitest';
import type { ReplicaFault } from '../support/replicas.ts';
import { makeWorld, REGIONS, type World } from './histories.ts';

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
