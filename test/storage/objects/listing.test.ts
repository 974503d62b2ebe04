import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commonPrefixOf, compareNames } from '../../../workers/storage/domain/name-order.ts';
import { type Bucket, type Engine, nameAfter } from '../../../workers/storage/engine/index.ts';
import { makeBucket, makeEngine, put, value } from './harness.ts';

const NAMES = [
  'a',
  'a/',
  'a/b',
  'a/b/c',
  'a/b\u0000',
  'a//b',
  'a/..',
  'a/./x',
  'ab',
  'b/1',
  'b/2',
  'b--1',
  'b--2',
  'é/1',
  'é/2',
  '\uffff',
  '😀',
  '😀/1',
  '\u0000',
  '%2F',
  'a/\uffff',
];

async function listAll(
  engine: Engine,
  bucket: Bucket,
  prefix: string,
  delimiter: string,
  limit: number,
): Promise<string[]> {
  const seen: string[] = [];
  for (let from: string | null = ''; from !== null; ) {
    const page: Awaited<ReturnType<Engine['listObjects']>> = await engine.listObjects({
      bucket,
      prefix,
      delimiter,
      from,
      limit,
    });
    const { entries, next } = value(page);
    expect(entries.length).toBeLessThanOrEqual(limit);
    if (next !== null) expect(entries.length).toBe(limit);
    for (const entry of entries) seen.push(entry.kind === 'prefix' ? `+${entry.prefix}` : entry.item.name);
    from = next;
  }
  return seen;
}

function expected(names: readonly string[], prefix: string, delimiter: string): string[] {
  const folded = names
    .filter((name) => name.startsWith(prefix))
    .map((name) => ({ name, common: commonPrefixOf(name, prefix, delimiter) }))
    .map(({ name, common }) => (common === null ? name : `+${common}`));
  const sortKey = (entry: string) => entry.replace(/^\+/, '');
  return [...new Set(folded)].sort((a, b) => compareNames(sortKey(a), sortKey(b)));
}

describe.each([1, 3])('on %i shards', (shards) => {
  const { engine } = makeEngine({ shards });

  test('every prefix, delimiter and page size returns the same names in byte order', async () => {
    const bucket = await makeBucket(engine);
    await Promise.all(NAMES.map((name) => put(engine, bucket, name, name)));
    for (const prefix of ['', 'a', 'a/', 'a/b', 'b-', 'é', '😀', 'nothing', '\uffff']) {
      for (const delimiter of ['', '/', '--', 'b', '\u0000', '😀']) {
        for (const limit of [1, 2, 1000]) {
          expect(await listAll(engine, bucket, prefix, delimiter, limit), `${prefix} ${delimiter} ${limit}`).toEqual(
            expected(NAMES, prefix, delimiter),
          );
        }
      }
    }
    const after = value(
      await engine.listObjects({ bucket, prefix: '', delimiter: '', from: nameAfter('a/b'), limit: 1 }),
    );
    expect(after.entries).toMatchObject([{ item: { name: 'a/b\u0000' } }]);
  });

  test('random names are listed in byte order', async () => {
    const unit = fc.constantFrom('a', 'b', '/', '-', '\u0000', 'é', '\uffff', '😀');
    const text = (max: number) => fc.string({ unit, maxLength: max });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(
          text(6).filter((name) => name !== ''),
          { minLength: 1, maxLength: 12 },
        ),
        text(2),
        text(2),
        fc.integer({ min: 1, max: 5 }),
        async (names, prefix, delimiter, limit) => {
          const bucket = await makeBucket(engine);
          await Promise.all(names.map((name) => put(engine, bucket, name, '')));
          expect(await listAll(engine, bucket, prefix, delimiter, limit)).toEqual(expected(names, prefix, delimiter));
        },
      ),
      { numRuns: 25 },
    );
  });

  test('versions are listed newest first, resumed within a name, and folded', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const rows: string[] = [];
    for (const name of ['a', 'b/1', 'b/2', 'c']) {
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.unshift((await put(engine, bucket, name, `${i}`)).versionId);
      ids.unshift(value(await engine.deleteObject(bucket, { name })).versionId ?? '');
      rows.push(...ids.map((id, i) => `${name} ${id}${i === 0 ? ' latest' : ''}`));
    }
    for (const delimiter of ['', '/']) {
      const want = delimiter === '' ? rows : [...rows.slice(0, 4), '+b/', ...rows.slice(12)];
      for (const limit of [1, 3, 1000]) {
        const seen: string[] = [];
        let from: string | null = '';
        let versionsAfter: string | null = null;
        while (from !== null) {
          const page: Awaited<ReturnType<Engine['listVersions']>> = await engine.listVersions({
            bucket,
            prefix: '',
            delimiter,
            from,
            limit,
            ...(versionsAfter === null ? {} : { versionsAfter }),
          });
          const { entries, next, nextVersion } = value(page);
          for (const entry of entries)
            seen.push(
              entry.kind === 'prefix'
                ? `+${entry.prefix}`
                : `${entry.item.name} ${entry.item.versionId}${entry.item.isLatest ? ' latest' : ''}`,
            );
          from = next;
          versionsAfter = nextVersion;
        }
        expect(seen, `delimiter ${delimiter}, limit ${limit}`).toEqual(want);
      }
    }
  });
});

test('a page reads rows in proportion to its size, not to the size of the bucket', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine);
  const database = context.shards[0] as D1Database;
  await put(engine, bucket, 'folder-000/000', 'x');
  await database
    .prepare(
      `INSERT INTO version(bucket, name, ord, slot, is_null, is_marker, object_id, size, etag)
       SELECT (SELECT n FROM bucket WHERE bucket_id = ?1), CAST(printf('folder-%03d/%03d', a.value, b.value) AS BLOB), v.v, 0, 0, 0, zeroblob(16), 0, ''
       FROM json_each(?2) a, json_each(?2) b, (SELECT x'01' AS v UNION ALL SELECT x'02' UNION ALL SELECT x'03') v WHERE a.value > 0`,
    )
    .bind(bucket.bucketId, JSON.stringify(Array.from({ length: 100 }, (_, i) => i)))
    .run();
  let rowsRead = 0;
  const counting = {
    ...context,
    shards: [
      new Proxy(database, {
        get(target, key) {
          if (key === 'prepare') return (sql: string) => target.prepare(sql);
          if (key !== 'batch') return Reflect.get(target, key);
          return async (statements: D1PreparedStatement[]) => {
            const answers = await target.batch(statements);
            for (const { meta } of answers) rowsRead += meta.rows_read;
            return answers;
          };
        },
      }),
    ],
  };
  const { engineOf } = await import('../../../workers/storage/engine/index.ts');
  const counted = engineOf(counting as typeof context);
  const pages: [string, number, () => Promise<unknown>][] = [
    ['10 folders', 80, () => counted.listObjects({ bucket, prefix: '', delimiter: '/', from: '', limit: 10 })],
    [
      '10 names, flat',
      40,
      () => counted.listObjects({ bucket, prefix: '', delimiter: '', from: 'folder-050', limit: 10 }),
    ],
    [
      '10 names in a folder',
      80,
      () => counted.listObjects({ bucket, prefix: 'folder-050/', delimiter: '/', from: '', limit: 10 }),
    ],
    [
      '30 versions, flat',
      200,
      () => counted.listVersions({ bucket, prefix: '', delimiter: '', from: 'folder-050', limit: 30 }),
    ],
    [
      '30 versions in a folder',
      300,
      () => counted.listVersions({ bucket, prefix: 'folder-050/', delimiter: '/', from: '', limit: 30 }),
    ],
    [
      'resumed versions',
      200,
      () =>
        counted.listVersions({
          bucket,
          prefix: '',
          delimiter: '',
          from: 'folder-050/050',
          versionsAfter: '00000000-0000-1000-8000-000000000000',
          limit: 30,
        }),
    ],
  ];
  for (const [what, most, run] of pages) {
    rowsRead = 0;
    await run();
    expect(rowsRead, what).toBeLessThan(most);
    expect(rowsRead, what).toBeGreaterThan(0);
  }
});

test('uses a page that was requested by the bucket name only if the name still belongs to the same bucket', async () => {
  const { engine } = makeEngine();
  const deleted = await makeBucket(engine);
  value(await engine.deleteBucket(deleted));
  const bucket = value(await engine.createBucket({ name: deleted.name, ownerId: 'u1' }));
  await put(engine, bucket, 'x', 'x');
  const names = { prefix: '', delimiter: '', limit: 10, from: '' };
  const list = async (known: Bucket) => {
    const copy = { ...known, proof: { identity: null } };
    engine.beginListing(bucket.name, names);
    const listed = await engine.listObjects({ ...names, bucket: copy });
    return [listed.proof, listed.ok ? listed.value.entries.length : listed.error.kind];
  };
  expect(await list(bucket)).toEqual(['held', 1]);
  expect(await list(deleted)).toEqual(['refused', 'unavailable']);
});
