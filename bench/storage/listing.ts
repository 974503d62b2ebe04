/**
 * Measures whether listings slow down as a bucket grows. It compares pages of a bucket with 200,000 entries with the same
 * pages of a bucket with 1,000 (two servers, alternating rounds). A ratio of 1 means no slowdown. Each page is one query.
 */
import { compare } from '../shared/load.ts';
import { startPair } from '../shared/servers.ts';
import { type Client, connect, fillWith } from './engine.ts';

const MANY = 200_000;
const FEW = 1_000;
const VERSIONS_PER_NAME = 20;

/** Queries of listings that return pages of about the same length from both buckets. */
const PAGES: readonly (readonly [label: string, query: string])[] = [
  ['flat, 1,000 keys', 'list-type=2&prefix=filled/'],
  ['997 folders', 'list-type=2&prefix=filled/&delimiter=/'],
  ['one key of a deep folder', 'list-type=2&prefix=filled/500/&delimiter=/&max-keys=1'],
  ['from the middle, 100 keys', 'list-type=2&start-after=filled/500&max-keys=100'],
  ['1,000 versions, 20 per name', 'versions&prefix=twenty/'],
  ['names of 20 versions, newest only', 'list-type=2&prefix=twenty/&max-keys=50'],
];

export async function run(): Promise<void> {
  const one = await startPair();
  const other = await startPair();
  try {
    const few = await connect(one.ours);
    const many = await connect(other.ours);
    for (const [client, count] of [
      [few, FEW],
      [many, MANY],
    ] as const) {
      await fillWith(client, count);
      await fillVersions(client, count / VERSIONS_PER_NAME);
    }
    for (const [label, query] of PAGES) {
      const load = (client: Client) => ({
        url: `${client.server.url}/bench?${query}`,
        headers: { authorization: client.authorization },
        connections: 2,
        seconds: 3,
      });
      await compare({ name: `list ${label}`, floor: load(few), ours: load(many), rounds: 3 });
    }
  } finally {
    await one.stop();
    await other.stop();
  }
}

/** Inserts names with 20 versions each. The newest version comes first in table order. */
async function fillVersions(client: Client, names: number): Promise<void> {
  const database = await client.server.miniflare.getD1Database('OBJECTS_0', 'tessera');
  const list = (length: number) => JSON.stringify(Array.from({ length }, (_, i) => i));
  for (let at = 0; at < names; at += 1_000) {
    await database
      .prepare(
        `INSERT INTO version(bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, sha256, metadata)
         SELECT b.n, CAST(printf('twenty/%06d', a.value + ?3) AS BLOB), unhex(printf('e%02x%029x', c.value, a.value + ?3)), 0,
           0, 0, randomblob(16), 0, 'd41d8cd98f00b204e9800998ecf8427e', randomblob(32),
           '{"headers":{"content-type":"application/octet-stream"},"user":{},"ownerId":"b5b5b5b5-0000-4000-8000-000000000000"}'
         FROM bucket b, json_each(?1) a, json_each(?2) c WHERE b.name = 'bench'`,
      )
      .bind(list(Math.min(1_000, names - at)), list(VERSIONS_PER_NAME), at)
      .run();
  }
}
