/**
 * Measures the storage engine: the rates of packing and scrubbing, the bytes that packing adds, the database bytes per object,
 * and GET and PUT with 200,000 objects against 1,000 (two servers, alternating rounds). `storage-listing` measures listings.
 * `test/storage/objects/cost.test.ts` asserts the rows, calls and R2 operations of a request.
 */
import { createHash, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { LocalServer } from '../../dev/local/local-server.ts';
import { NEXT_ID } from '../../workers/storage/engine/store/version-ids.ts';
import { compare } from '../shared/load.ts';
import { BENCH_ROOT_TOKEN, startPair } from '../shared/servers.ts';

const MIB = 1024 ** 2;
const SMALL_OBJECTS = 16_384;
const LARGE_OBJECTS = 16;
const MANY = 200_000;
const FEW = 1_000;

export interface Client {
  readonly server: LocalServer;
  readonly authorization: string;
}

export async function run(): Promise<void> {
  const { ours, stop } = await startPair();
  const { ours: other, stop: stopOther } = await startPair();
  try {
    const client = await connect(ours);
    await benchPacking(client);
    await benchScrub(client);
    await benchGrowth(client, await connect(other));
  } finally {
    await stop();
    await stopOther();
  }
}

async function operate<T>(server: LocalServer, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${BENCH_ROOT_TOKEN}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

export async function connect(server: LocalServer): Promise<Client> {
  const user = await operate<{ user_id: string }>(server, 'POST', '/v1/iam/users', { name: 'bench' });
  const request = { name: 'bench', user_id: user.user_id, scopes: ['objects:read', 'objects:write'] };
  const { token } = await operate<{ token: string }>(server, 'POST', '/v1/iam/tokens', request);
  const client = { server, authorization: `Bearer ${token}` };
  await put(client, '/bench');
  return client;
}

async function put({ server, authorization }: Client, path: string, body?: Uint8Array): Promise<void> {
  const response = await fetch(server.url + path, {
    method: 'PUT',
    headers: { authorization },
    ...(body ? { body: body as BodyInit } : {}),
  });
  if (!response.ok) throw new Error(`PUT ${path}: ${response.status}`);
  await response.arrayBuffer();
}

async function putMany(client: Client, count: number, body: Uint8Array, prefix: string): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await put(client, `/bench/${prefix}${next++}`, body);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** Inserts small objects into the database as a PUT leaves them, and prevents cron from packing them before the measurement. */
async function fillInline(client: Client, body: Uint8Array, count: number): Promise<void> {
  const database = await client.server.miniflare.getD1Database('OBJECTS_0', 'tessera');
  const ids = Array.from({ length: count }, (_, i) => [randomUUID().replaceAll('-', ''), String(i).padStart(7, '0')]);
  const metadata =
    '{"headers":{"content-type":"application/octet-stream"},"user":{},"ownerId":"b5b5b5b5-0000-4000-8000-000000000000"}';
  for (let at = 0; at < count; at += 2048) {
    const list = JSON.stringify(ids.slice(at, at + 2048));
    await database
      .prepare(
        `INSERT INTO version(id, bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, sha256, metadata, crc32, data)
         SELECT ${NEXT_ID} + a.key, b.n, CAST('small/' || (a.value->>1) AS BLOB), unhex('e10d000000000000' || substr(a.value->>0, 17)), 0, 1, 0,
           unhex(a.value->>0), ?2, ?3, randomblob(32), ?4, ?5, ?6 FROM bucket b, json_each(?1) a WHERE b.name = 'bench'`,
      )
      .bind(
        list,
        body.length,
        createHash('md5').update(body).digest('hex'),
        metadata,
        crc32(body),
        Buffer.from(body).toString('base64'),
      )
      .run();
  }
}

async function benchPacking(client: Client): Promise<void> {
  const body = new Uint8Array(4096);
  for (let i = 0; i < body.length; i++) body[i] = (i * 31) & 0xff;
  await fillInline(client, body, SMALL_OBJECTS);
  const started = performance.now();
  const report = await operate<Record<string, number>>(client.server, 'POST', '/v1/storage/gc', {
    pack: true,
    max_seconds: 300,
  });
  const seconds = (performance.now() - started) / 1000;
  const { bytes_packed = 0, volumes_packed = 0, packing_overhead_bytes = 0, objects_packed = 0 } = report;
  const stored = (bytes_packed + packing_overhead_bytes) / bytes_packed;
  console.log(
    `packing 4 KiB objects            ${(bytes_packed / MIB / seconds).toFixed(1)} MiB/s, ${objects_packed} objects in ${volumes_packed} volumes`,
  );
  console.log(`  bytes stored per object byte   ${stored.toFixed(3)} in each location`);
  const writes = (volumes_packed / objects_packed) * 1e6;
  console.log(`  R2 writes per million uploads  ${writes.toFixed(0)} in each location (unpacked: 1,000,000)`);
}

async function benchScrub(client: Client): Promise<void> {
  await putMany(client, LARGE_OBJECTS, new Uint8Array(8 * MIB).fill(7), 'large/');
  const started = performance.now();
  const report = await operate<Record<string, number>>(client.server, 'POST', '/v1/storage/scrub', {
    max_seconds: 300,
  });
  const seconds = (performance.now() - started) / 1000;
  const bytes = report.bytes ?? 0;
  console.log(`scrubbing                        ${(bytes / MIB / seconds).toFixed(1)} MiB/s of copies`);
}

/** Inserts rows as PUTs leave them, because 200,000 uploads would take an hour. @returns the growth of the database in bytes. */
export async function fillWith(client: Client, count: number): Promise<number> {
  const miniflare = client.server.miniflare;
  const database = await miniflare.getD1Database('OBJECTS_0', 'tessera');
  const list = (length: number) => JSON.stringify(Array.from({ length }, (_, i) => i));
  const before = await database.prepare('SELECT 1').run();
  for (let at = 0; at < count; at += 20_000) {
    await database
      .prepare(
        `INSERT INTO version(bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, sha256, metadata)
         SELECT b.n, CAST(printf('filled/%03d/%07d', (a.value * 100 + c.value + ?3) % 997, a.value * 100 + c.value + ?3) AS BLOB),
           randomblob(16), 0, 1, 0, randomblob(16), 0, 'd41d8cd98f00b204e9800998ecf8427e', randomblob(32),
           '{"headers":{"content-type":"application/octet-stream"},"user":{},"ownerId":"b5b5b5b5-0000-4000-8000-000000000000"}'
         FROM bucket b, json_each(?1) a, json_each(?2) c WHERE b.name = 'bench'`,
      )
      .bind(list(Math.min(200, Math.ceil((count - at) / 100))), list(100), at)
      .run();
  }
  const after = await database.prepare('SELECT 1').run();
  return (after.meta.size_after ?? 0) - (before.meta.size_after ?? 0);
}

async function benchGrowth(few: Client, many: Client): Promise<void> {
  await fillWith(few, FEW);
  const grown = await fillWith(many, MANY);
  console.log(`database bytes per empty object  ${(grown / MANY).toFixed(0)} (name of 18 bytes)`);
  const body = new Uint8Array(4096).fill(3);
  for (const client of [few, many]) for (let i = 0; i < 64; i++) await put(client, `/bench/growth/${i}`, body);
  const script = (client: Client, method: string) => `
    local body = ${method === 'PUT' ? 'string.rep("x", 4096)' : 'nil'}
    local n = 0
    request = function()
      n = (n + 1) % 64
      return wrk.format("${method}", "/bench/growth/" .. n, { authorization = "${client.authorization}" }, body)
    end`;
  for (const method of ['GET', 'PUT']) {
    const load = (client: Client) => ({
      url: client.server.url,
      connections: 8,
      seconds: 3,
      script: script(client, method),
    });
    await compare({
      name: `${method} 4 KiB, 200,000 against 1,000`,
      floor: load(few),
      ours: load(many),
      rounds: 5,
    });
  }
}
