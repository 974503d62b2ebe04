/**
 * Puts each database back to an earlier state, alone and in pairs, under load, and follows the runbook of docs/operations.md. After ten
 * seconds nothing wrong is served with 200, nothing of the journal is lost, and nothing is given out twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NAME_OF, RestoredService, type StoreFile } from '../../support/disaster/restore.ts';

let service: RestoredService;
beforeAll(async () => {
  service = await RestoredService.open();
});
afterAll(() => service?.server[Symbol.asyncDispose]());

const CLIENTS = 4;
const NAMES = 40;
/** Time within which a restore is found out. */
const FOUND_OUT_MS = 10_000;

/** Each client has names of its own, so that the last acknowledged state of a name is known. */
async function change(round: string): Promise<void> {
  const client = async (number: number) => {
    for (let i = number; i < NAMES; i += CLIENTS) {
      if (i % 3 === 0) expect(await service.remove(`shared-${i}`)).toBe(204);
      else expect(await service.put(`shared-${i}`)).toBe(200);
      expect(await service.put(`${round}-${i}`)).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
}

/** Reads all names again and again until `isOver`. @returns what was found, and how often. */
async function load(isOver: () => boolean): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const names = [...service.names.keys()];
  const client = async (number: number) => {
    for (let i = number; !isOver(); i += CLIENTS) {
      const what = await service.read(names[i % names.length] ?? '');
      found.set(what, (found.get(what) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  return found;
}

const CASES: readonly (readonly StoreFile[])[] = [
  ['shard 0'],
  ['shard 1'],
  ['directory'],
  ['directory 1'],
  ['directory', 'directory 1'],
  ['shard 0', 'directory 1'],
  ['shard 1', 'directory 1'],
  ['shard 0', 'shard 1'],
  ['shard 0', 'directory'],
  ['shard 1', 'directory'],
  ['shard 0', 'shard 1', 'directory', 'directory 1'],
];

it.each(CASES.map((stores) => ({ stores })))('$stores', async ({ stores }) => {
  const round = stores.join('-').replaceAll(' ', '');
  await change(`${round}-before`);
  const revoked = await service.makeToken();
  const earlier = await service.copy();
  await change(`${round}-after`);
  const person = await service.register();
  expect((await service.server.call('DELETE', `/v1/iam/tokens/${revoked.id}`)).status).toBe(204);
  await service.doubt();

  await service.putBack(earlier, stores, true);
  await sleep(FOUND_OUT_MS);
  let isReplayed = false;
  const loading = load(() => isReplayed);
  const health = await service.health();
  for (const [store, name] of Object.entries(NAME_OF)) {
    const isNamed = health.unavailable.some((text: string) => text.startsWith(`${name} was put back`));
    expect([name, isNamed]).toEqual([name, stores.includes(store as StoreFile)]);
  }
  // A registration asks the newest database that may have the address, and the others that may.
  if (stores.some((store) => store.startsWith('directory')))
    expect((await service.registerAgain(person)).status).toBe(503);

  const since = performance.now();
  await service.replay(1);
  console.log(JSON.stringify({ stores, seconds: Math.round((performance.now() - since) / 100) / 10 }));
  isReplayed = true;
  const found = await loading;
  expect([...found.keys()].filter((what) => what !== '503' && what !== 'right')).toEqual([]);
  // The objects of the caller need neither database of other people.
  if (stores.some((store) => store !== 'directory 1')) expect(found.get('503')).toBeGreaterThan(0);

  await expect.poll(async () => (await service.health()).status).toBe('ok');
  expect([...(await service.readAll())]).toEqual([['right', service.names.size]]);
  expect((await service.registerAgain(person)).status).toBe(409);
  const headers = { authorization: `Bearer ${revoked.token}` };
  expect((await fetch(`${service.server.url}/kept/shared-1`, { headers })).status).toBe(401);
  const { body } = await service.server.call('POST', '/v1/storage/fsck', {});
  expect(body).toMatchObject({
    versions_incomplete: 0,
    extents_dangling: 0,
    extents_without_blob: 0,
    copies_missing: 0,
  });
});

it('finds a seeded fault: the numbers in the locations are put back with a shard', async () => {
  await change('seeded-before');
  const [earlier, locations] = [await service.copy(), await service.copyLocations()];
  await change('seeded-after');
  await service.putLocationsBack(locations);
  await service.putBack(earlier, ['shard 0']);
  await sleep(FOUND_OUT_MS);
  const found = await service.readAll();
  expect([...found.keys()].filter((what) => what !== '503' && what !== 'right').length).toBeGreaterThan(0);
});
