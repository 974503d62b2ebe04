/**
 * Tests that no write takes effect after the acknowledgement of a revocation, on the whole Worker. The revocation is acknowledged
 * while the write waits for a sealed slot, or after the write was authorised again and before its next batch.
 */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import { must, type Send, senderFrom } from '../../shared/objects/histories.ts';
import { wipe } from './harness.ts';

beforeEach(wipe);

const ROOT = env.ROOT_TOKEN;
const [PART, MORE] = ['part'.repeat(2_000), 'more'.repeat(2_000)];

/** Wraps a shard. `before` is called ahead of each batch that has a guard, with the number of the batch from 0. */
function watched(real: D1Database, before: (batch: number) => Promise<unknown>): D1Database {
  const inner = new WeakMap<object, { readonly statement: D1PreparedStatement; readonly sql: string }>();
  let batches = 0;
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), sql),
      all: () => statement.all(),
      run: () => statement.run(),
      first: (...names: string[]) => statement.first(...(names as [string])),
      raw: () => statement.raw(),
    } as unknown as D1PreparedStatement;
    inner.set(wrapped, { statement, sql });
    return wrapped;
  };
  return {
    prepare: (sql: string) => wrap(real.prepare(sql), sql),
    async batch(statements: D1PreparedStatement[]) {
      const known = statements.map((statement) => inner.get(statement) ?? { statement, sql: '' });
      if (known.some(({ sql }) => sql.startsWith('INSERT INTO guard'))) await before(batches++);
      return await real.batch(known.map(({ statement }) => statement));
    },
  } as unknown as D1Database;
}

interface Setting {
  readonly bucket: string;
  readonly token: string;
  readonly uploadId: string;
  /** ETag of the only part of the upload. */
  readonly etag: string;
}

interface Write {
  send(send: Send, setting: Setting): ReturnType<Send>;
}

const parts = ({ etag }: Setting) =>
  `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`;
const md5Of = async (text: string) =>
  Buffer.from(await crypto.subtle.digest('MD5', new TextEncoder().encode(text))).toString('base64');

/** Every S3 request that writes objects, uploads or parts. */
const WRITES: Readonly<Record<string, Write>> = {
  'put inline': { send: (send, { bucket, token }) => send('PUT', `/${bucket}/x`, token, 'small') },
  'put in a blob': { send: (send, { bucket, token }) => send('PUT', `/${bucket}/x`, token, 'large'.repeat(5_000)) },
  copy: {
    send: (send, { bucket, token }) =>
      send('PUT', `/${bucket}/x`, token, undefined, { 'x-amz-copy-source': `/${bucket}/source` }),
  },
  delete: { send: (send, { bucket, token }) => send('DELETE', `/${bucket}/x`, token) },
  'delete of several': {
    async send(send, { bucket, token }) {
      const list = '<Delete><Object><Key>x</Key></Object><Object><Key>y</Key><Size>5</Size></Object></Delete>';
      return await send('POST', `/${bucket}?delete`, token, list, { 'content-md5': await md5Of(list) });
    },
  },
  'create upload': { send: (send, { bucket, token }) => send('POST', `/${bucket}/x?uploads`, token) },
  'upload part': {
    send: (send, { bucket, token, uploadId }) =>
      send('PUT', `/${bucket}/x?partNumber=2&uploadId=${uploadId}`, token, MORE),
  },
  'copy part': {
    send: (send, { bucket, token, uploadId }) =>
      send('PUT', `/${bucket}/x?partNumber=2&uploadId=${uploadId}`, token, undefined, {
        'x-amz-copy-source': `/${bucket}/source`,
      }),
  },
  'complete upload': {
    send: (send, setting) =>
      send('POST', `/${setting.bucket}/x?uploadId=${setting.uploadId}`, setting.token, parts(setting)),
  },
  'abort upload': {
    send: (send, { bucket, token, uploadId }) => send('DELETE', `/${bucket}/x?uploadId=${uploadId}`, token),
  },
};

const plain = senderFrom({ ...env, LOG_SAMPLE_PERCENT: '0' });
let made = 0;

async function makeToken(userId: string): Promise<string> {
  const asked = { name: 'token', user_id: userId, scopes: ['objects:read', 'objects:write'] };
  return JSON.parse(await must(plain('POST', '/v1/iam/tokens', ROOT, asked))).token;
}

async function makeUser(): Promise<string> {
  return JSON.parse(await must(plain('POST', '/v1/iam/users', ROOT, { name: `user-${made++}` }))).user_id;
}

/** Takes all rights of a user away. Returns once that is acknowledged. */
const suspend = (userId: string) =>
  must(plain('PUT', `/v1/accounts/${userId}/suspension`, ROOT, { reason: 'stolen key' }));

async function makeSetting() {
  const userId = await makeUser();
  const [token, bucket] = [await makeToken(userId), `gap-${crypto.randomUUID()}`];
  await must(plain('PUT', `/${bucket}`, token));
  for (const name of ['x', 'y', 'source']) await must(plain('PUT', `/${bucket}/${name}`, token, 'first'));
  const created = await must(plain('POST', `/${bucket}/x?uploads`, token));
  const uploadId = /<UploadId>(.*?)<\/UploadId>/.exec(created)?.[1] ?? '';
  await must(plain('PUT', `/${bucket}/x?partNumber=1&uploadId=${uploadId}`, token, PART));
  const listed = await must(plain('GET', `/${bucket}/x?uploadId=${uploadId}`, token));
  const etag = /<ETag>(.*?)<\/ETag>/.exec(listed)?.[1] ?? '';
  return { userId, setting: { bucket, token, uploadId, etag } };
}

/** Everything that a write could change. */
const stored = () =>
  Promise.all(
    ['version', 'upload', 'part'].map(
      async (table) => (await env.OBJECTS_0.prepare(`SELECT * FROM ${table} ORDER BY 1, 2, 3`).all()).results,
    ),
  );

const setSlots = (from: string, to: string) =>
  env.OBJECTS_0.prepare('UPDATE bucket SET slots = replace(slots, ?1, ?2)').bind(from, to).run();

/** Sends a write and calls `before` ahead of each of its guarded batches. */
async function sendWatched(write: Write, setting: Setting, before: (batch: number) => Promise<unknown>) {
  const send = senderFrom({ ...env, LOG_SAMPLE_PERCENT: '0', OBJECTS_0: watched(env.OBJECTS_0, before) });
  return await write.send(send, setting);
}

describe.each(Object.entries(WRITES))('%s', (_, write) => {
  test('changes nothing if the revocation is acknowledged while the slot is sealed', async () => {
    const { userId, setting } = await makeSetting();
    const before = await stored();
    let isRevoked = false;
    await setSlots('o', 's');
    const answer = await sendWatched(write, setting, async (batch) => {
      if (batch !== 3) return;
      await suspend(userId);
      isRevoked = true;
      await setSlots('s', 'o');
    });
    expect({ isRevoked, status: answer.status }).toEqual({ isRevoked: true, status: 401 });
    expect(await stored()).toEqual(before);
  });

  test('changes nothing if the revocation is acknowledged after the write was authorised again', async () => {
    const { userId, setting } = await makeSetting();
    const other = await makeUser();
    const before = await stored();
    let isRevoked = false;
    const answer = await sendWatched(write, setting, async (batch) => {
      if (batch === 0) await suspend(other);
      if (batch !== 1) return;
      await suspend(userId);
      isRevoked = true;
    });
    expect({ isRevoked, status: answer.status }).toEqual({ isRevoked: true, status: 401 });
    expect(await stored()).toEqual(before);
  });

  test('succeeds although other people lose rights before each of its first batches', async () => {
    const { setting } = await makeSetting();
    const others = await Promise.all([1, 2, 3, 4].map(makeUser));
    let revoked = 0;
    const answer = await sendWatched(write, setting, async (batch) => {
      const other = others[batch];
      if (other === undefined) return;
      await suspend(other);
      revoked++;
    });
    expect(answer.status, answer.text).toBeLessThan(300);
    expect(answer.text).not.toContain('<Error>');
    expect(revoked).toBe(others.length);
  });
});

test('a delete of several that loses the right midway reports each object', async () => {
  const { userId, setting } = await makeSetting();
  const isDeleted = async () =>
    (await env.OBJECTS_0.prepare("SELECT 1 FROM version WHERE name = CAST('x' AS BLOB)").first()) === null;
  const before = async () => (await isDeleted()) && (await suspend(userId));
  const write = WRITES['delete of several'] as Write;
  const { status, text } = await sendWatched(write, setting, before);
  expect(status).toBe(200);
  expect(text).toMatch(/<Deleted><Key>x<\/Key><\/Deleted><Error><Key>y<\/Key><Code>\w+<\/Code>/);
  const names = await env.OBJECTS_0.prepare('SELECT CAST(name AS TEXT) AS name FROM version ORDER BY name').all();
  expect(names.results.map(({ name }) => name)).toEqual(['source', 'y']);
});
