/** Puts a shard, DIRECTORY and DIRECTORY_1 back to an earlier state at once, and follows the runbook. `restore.long.test.ts` has every pair. */
import { afterAll, expect, it } from 'vitest';
import { RestoredService } from '../../support/disaster/restore.ts';

let service: RestoredService;
afterAll(() => service?.server[Symbol.asyncDispose]());

it('after a restore of a shard and both user databases nothing wrong is served, and a replay brings everything back', async () => {
  service = await RestoredService.open();
  for (let i = 0; i < 12; i++) expect(await service.put(`object-${i}`)).toBe(200);
  const revoked = await service.makeToken();
  const earlier = await service.copy();
  for (let i = 0; i < 4; i++) expect(await service.put(`object-${i}`)).toBe(200);
  for (let i = 4; i < 8; i++) expect(await service.remove(`object-${i}`)).toBe(204);
  for (let i = 12; i < 16; i++) expect(await service.put(`object-${i}`)).toBe(200);
  const person = await service.register();
  expect((await service.server.call('DELETE', `/v1/iam/tokens/${revoked.id}`)).status).toBe(204);
  await service.doubt();

  await service.putBack(earlier, ['directory', 'directory 1', 'shard 0']);
  const health = await service.health();
  expect(health.unavailable).toEqual([
    'DIRECTORY was put back to an earlier state and has not been replayed',
    'OBJECTS_0 was put back to an earlier state and has not been replayed',
    'DIRECTORY_1 was put back to an earlier state and has not been replayed',
  ]);
  expect([...(await service.readAll()).keys()]).toEqual(['503']);
  expect(await service.put('refused')).toBe(503);
  expect(await service.registerAgain(person)).toMatchObject({ status: 503, body: { code: 'store_older' } });
  const metrics = await service.server.call('GET', '/v1/metrics');
  expect(metrics.body).toContain('tessera_store_older{database="OBJECTS_0"} 1');

  await service.replay(1);
  expect(await service.health()).toMatchObject({ status: 'ok' });
  expect([...(await service.readAll())]).toEqual([['right', service.names.size]]);
  expect((await service.registerAgain(person)).status).toBe(409);
  const headers = { authorization: `Bearer ${revoked.token}` };
  expect((await fetch(`${service.server.url}/kept/object-0`, { headers })).status).toBe(401);
  expect(await service.put('later')).toBe(200);
});
