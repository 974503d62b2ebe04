/** The copy in an S3 location: another Tessera has everything that the locations have, deletions later, and nothing of a stranger. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findMissingAbilities } from '../../../dev/deploy/s3-location-probe.ts';
import { S3Location, type S3LocationAddress } from '../../../workers/shared/s3-location/client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { type S3Peer, startS3Peer } from '../../support/storage/s3-peer.ts';

let peer: S3Peer;
let server: TestServer;
let headers: Record<string, string>;

const copy = async () => {
  const { status, body } = await server.call('POST', '/v1/locations/s3/copy', {});
  expect([status, body.failed, body.finished], JSON.stringify(body)).toEqual([200, 0, true]);
  return body;
};
const put = async (name: string, bytes: Uint8Array) => {
  const answer = await fetch(`${server.url}/kept/${name}`, { method: 'PUT', headers, body: new Uint8Array(bytes) });
  expect(answer.status).toBe(200);
};
const blobs = async () => (await peer.listKeys()).filter((key) => key.startsWith('blobs/'));

beforeAll(async () => {
  peer = await startS3Peer();
  server = await startServer({ vars: peer.vars });
  const { userId } = await server.createAccessKey('writer');
  const scopes = ['objects:read', 'objects:write'];
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'objects', user_id: userId, scopes });
  headers = { authorization: `Bearer ${body.token}` };
  await fetch(`${server.url}/kept`, { method: 'PUT', headers });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await peer?.[Symbol.asyncDispose]();
});

it('copies bytes, owner ids and snapshots once, and says up to when', async () => {
  for (const size of [16_385, 100_000, 3_000_000]) await put(`o-${size}`, randomBytes(size));
  await server.call('POST', '/v1/storage/snapshot', {});
  const before = Date.now();
  const first = await copy();
  expect(Date.parse(first.through)).toBeGreaterThanOrEqual(before);
  const keys = await peer.listKeys();
  expect(await blobs()).toHaveLength(3);
  expect(keys.some((key) => /^snapshots\/0\/.*manifest/.test(key))).toBe(true);
  expect(keys).toContain('owners/objects-0');
  expect(keys.filter((key) => key.startsWith('missing/'))).toEqual([]);
  expect((await copy()).copied).toBe(0);
  const { body } = await server.call('GET', '/v1/metrics');
  expect(String(body)).toMatch(/^tessera_s3_location_lag_seconds \d/m);
});

it('copies again what changed or is gone there, and compares the bytes that arrive', async () => {
  const [blob = ''] = await blobs();
  await peer.request('DELETE', `copy/${blob}`);
  await peer.request('PUT', 'copy/owners/objects-0', 'damaged');
  expect((await copy()).copied).toBe(2);
  expect(await blobs()).toContain(blob);
  expect(await (await peer.request('GET', 'copy/owners/objects-0')).json()).toHaveProperty('id');
});

it('is checked against R2 and byte by byte, and gets damaged copies again', async () => {
  const check = async (body: object) => (await server.call('POST', '/v1/locations/s3/check', body)).body;
  expect(await check({ read: true })).toMatchObject({ missing: 0, unrecorded: 0, damaged: 0, next_cursor: null });
  const [first = '', second = ''] = await blobs();
  const intact = await (await peer.request('GET', `copy/${first}`)).arrayBuffer();
  // Another object of the same size, without a description: only reading it shows that.
  await peer.request('PUT', `copy/${first}`, 'x'.repeat(intact.byteLength));
  await peer.request('DELETE', `copy/${second}`);
  await peer.request('PUT', 'copy/mail/nobody/in/1', 'not in R2');
  expect(await check({})).toMatchObject({ missing: 1, unrecorded: 1, damaged: 0 });
  const { examples, ...found } = await check({ read: true, remove_damaged: true });
  expect(found).toMatchObject({ missing: 1, unrecorded: 1, damaged: 2, removed: 1 });
  expect(examples).toContain(`damaged ${first}`);
  await peer.request('DELETE', 'copy/mail/nobody/in/1');
  expect((await copy()).copied).toBe(2);
  expect(await check({ read: true })).toMatchObject({ missing: 0, unrecorded: 0, damaged: 0 });
});

const addressOf = (endpoint: string): S3LocationAddress => ({
  endpoint,
  url: 's3://outside/copy',
  region: 'us-east-1',
  accessKeyId: peer.vars.S3_LOCATION_KEY_ID ?? '',
  secretAccessKey: peer.vars.S3_LOCATION_SECRET ?? '',
});

it('is tried by the deployment, which names what a server lacks', async () => {
  expect(await findMissingAbilities(new S3Location(addressOf(peer.server.url)))).toEqual([]);
  expect((await peer.listKeys()).filter((key) => key.includes('probe'))).toEqual([]);
  // A server that accepts everything and keeps nothing.
  const careless = createServer((_, answer) => answer.end('<ListBucketResult></ListBucketResult>'));
  await new Promise<void>((resolve) => careless.listen(0, '127.0.0.1', resolve));
  const { port } = careless.address() as AddressInfo;
  const missing = await findMissingAbilities(new S3Location(addressOf(`http://127.0.0.1:${port}`)));
  careless.close();
  expect(missing.map((name) => name.split(' ')[0])).toEqual([
    'refusal',
    'user',
    'range',
    'ListObjectsV2',
    'conditional',
    'multipart',
  ]);
});

it('records a deletion, keeps the bytes for the days of the setting, and deletes them then', async () => {
  const gone = 'mail/somebody/in/given-up';
  await peer.request('PUT', `copy/${gone}`, 'a message that R2 has no more');
  await copy();
  expect(await peer.listKeys()).toEqual(expect.arrayContaining([gone, `.tessera/deleted/${gone}`]));
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String(31 * 86_400) });
  await copy();
  expect((await peer.listKeys()).filter((key) => key.includes(gone))).toEqual([]);
});

it('refuses a location that belongs to another installation, and says so', async () => {
  await peer.request('PUT', 'copy/.tessera/owner', 'another');
  const { body } = await server.call('POST', '/v1/locations/s3/copy', {});
  expect(body.finished).toBe(false);
  const { body: collectors } = await server.call('GET', '/v1/collectors');
  const found = collectors.data.find(({ collector }: { collector: string }) => collector === 's3-location');
  expect(found.alarm.reason).toContain('another installation');
  const { body: health } = await server.call('GET', '/v1/health');
  expect(JSON.stringify(health.warnings)).toContain('S3_LOCATION');
  const refused = await server.call('POST', '/v1/locations/s3/rescue', {});
  expect([refused.status, refused.body.code]).toEqual([409, 'not_empty']);
});
