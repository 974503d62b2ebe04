/**
 * Measures how much memory workerd needs in addition for each large flow, as the kernel counts it. A Worker has 128 MB. The local
 * R2, D1 and SQLite run in the same process and count too, so the flows move more bytes than the limits allow. Only a flow that
 * streams stays below the limits.
 */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fillShard } from '../../support/leaderboard/fill-shard.ts';
import { importWhole, listFolder, type MailUser, postInbound, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { listShards } from '../../support/storage/kill-target.ts';
import { watchMemory } from '../../support/workerd-memory.ts';

const MIB = 1024 * 1024;
const GROWTH_MAX = 150 * MIB;

let server: TestServer;
let ann: MailUser;
let authorization: string;

beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, 'ann');
  await server.call('PATCH', `/v1/accounts/${ann.userId}`, { account_type: 'business' });
  const { userId } = await server.createAccessKey('writer');
  const scopes = ['objects:read', 'objects:write'];
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'large', user_id: userId, scopes });
  authorization = `Bearer ${body.token}`;
  expect((await send('PUT', '/large')).status).toBe(200);
  await warmUp();
});
afterAll(() => server[Symbol.asyncDispose]());

const send = (method: string, path: string, body?: Uint8Array, headers: Readonly<Record<string, string>> = {}) =>
  fetch(server.url + path, {
    method,
    headers: { authorization, ...headers },
    ...(body ? { body: body as BodyInit } : {}),
  });

/** Warms up the server: buffers and code that the first requests of a process need must not count as growth. */
async function warmUp(): Promise<void> {
  for (let n = 0; n < 20; n++) expect((await send('PUT', `/large/warm-${n}`, randomBytes(MIB))).status).toBe(200);
}

const asAnn = (method: string, path: string, body?: BodyInit, type = 'application/json') =>
  fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${ann.token}`, 'content-type': type },
    ...(body ? { body } : {}),
  });

async function drain(response: Response): Promise<number> {
  let size = 0;
  for await (const chunk of response.body ?? []) size += chunk.byteLength;
  return size;
}

/** Measures the growth of memory during a flow. @param bytes that the flow moves. @param bound limit of the growth. */
async function measure(flow: string, bytes: number, work: () => Promise<void>, bound = GROWTH_MAX): Promise<void> {
  const { before, peak } = await watchMemory(server, work);
  const growth = peak - before;
  const inMib = (value: number) => Math.round(value / MIB);
  console.log(JSON.stringify({ flow, moved_mib: inMib(bytes), growth_mib: inMib(growth), before_mib: inMib(before) }));
  expect(growth).toBeLessThan(bound);
}

it('refuses 16 MiB of JSON', async () => {
  const body = JSON.stringify({ to: [{ email: 'a@outside.test' }], subject: 'x', body: 'x'.repeat(16 * MIB) });
  await measure(
    '16 MiB of JSON, refused',
    body.length,
    async () => {
      for (const path of ['/v1/messages', '/v1/drafts']) expect((await asAnn('POST', path, body)).status).toBe(413);
    },
    48 * MIB,
  );
});

it('sends 7 MiB of JSON with a file inside', async () => {
  const content = randomBytes(5 * MIB).toString('base64');
  const attachments = [{ file_name: 'a.bin', content_type: 'application/octet-stream', content }];
  const body = JSON.stringify({ to: [{ email: 'a@outside.test' }], subject: 'x', body: 'x', attachments });
  await measure('7 MiB of JSON, sent', body.length, async () => {
    expect((await asAnn('POST', '/v1/messages', body)).status).toBe(202);
  });
});

it('takes an object of 256 MiB in parts, and returns it', async () => {
  const part = randomBytes(16 * MIB);
  const created = await (await send('POST', '/large/multipart?uploads')).text();
  const id = /<UploadId>([^<]*)</.exec(created)?.[1];
  await measure('multipart upload', 16 * part.length, async () => {
    const parts: string[] = [];
    for (let n = 1; n <= 16; n++) {
      const answer = await send('PUT', `/large/multipart?partNumber=${n}&uploadId=${id}`, part);
      expect(answer.status).toBe(200);
      parts.push(`<Part><PartNumber>${n}</PartNumber><ETag>${answer.headers.get('etag')}</ETag></Part>`);
    }
    const list = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    expect((await send('POST', `/large/multipart?uploadId=${id}`, list)).status).toBe(200);
  });
  await measure('download', 16 * part.length, async () => {
    expect(await drain(await send('GET', '/large/multipart'))).toBe(16 * part.length);
  });
});

const FILES = 4;
const FILE_BYTES = 12 * MIB;

it('keeps a draft with 48 MiB of files and 1 MiB of text', async () => {
  const file = randomBytes(FILE_BYTES);
  const ids: string[] = [];
  await measure('uploads for a draft', FILES * FILE_BYTES, async () => {
    for (let n = 0; n < FILES; n++) {
      const answer = await asAnn(
        'POST',
        `/v1/attachments?file_name=${n}.bin`,
        new Uint8Array(file),
        'application/octet-stream',
      );
      expect(answer.status).toBe(201);
      ids.push(((await answer.json()) as { attachment_id: string }).attachment_id);
    }
  });
  await measure('a draft with these files, saved 20 times', FILES * FILE_BYTES, async () => {
    const draft = {
      to: [{ email: 'a@outside.test' }],
      subject: 'large',
      attachments: ids.map((attachment_id) => ({ attachment_id })),
    };
    const made = await asAnn('POST', '/v1/drafts', JSON.stringify({ ...draft, body: 'x' }));
    const { id, code } = (await made.json()) as { id?: string; code?: string };
    expect([made.status, code]).toEqual([201, undefined]);
    for (let n = 0; n < 20; n++) {
      const body = JSON.stringify({ ...draft, body: 'x'.repeat(MIB) });
      expect((await asAnn('PUT', `/v1/drafts/${id}`, body)).status).toBe(200);
    }
  });
});

const toMessage = (n: number, file: string) =>
  `From: a@elsewhere.test\r\nTo: ${ann.email}\r\nSubject: Large ${n}\r\nMessage-ID: <${n}@elsewhere.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nText\r\n--b\r\nContent-Type: application/octet-stream; name=a.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n${file}\r\n--b--\r\n`;

it('imports 160 MiB of mail, exports it and rebuilds the mailbox', async () => {
  const messages = Array.from({ length: 16 }, (_, n) => {
    const file = randomBytes(7 * MIB)
      .toString('base64')
      .replace(/.{76}/g, '$&\r\n');
    return `From a@elsewhere.test Thu Jan  1 00:00:0${n % 10} 2026\r\n${toMessage(n, file)}\r\n`;
  });
  const mbox = Buffer.from(messages.join(''));
  await measure('import', mbox.length, async () => {
    const report = await importWhole(server, ann.token, new Uint8Array(mbox));
    expect(report).toMatchObject({ imported: 16, failed: 0, remaining: 0 });
  });
  expect((await server.call('POST', '/v1/auth/confirm', { password: 'correct horse battery' }, ann.token)).status).toBe(
    204,
  );
  await measure('export', mbox.length, async () => {
    expect(await drain(await asAnn('GET', '/v1/export'))).toBeGreaterThan(mbox.length);
  });
  await measure('rebuild of the mailbox', mbox.length, async () => {
    const { status, body } = await server.call('POST', `/v1/accounts/${ann.userId}/rebuild`);
    expect([status, body.missing]).toEqual([200, []]);
  });
});

it('takes in 4 messages of 20 MiB after one another', async () => {
  const file = randomBytes(15 * MIB)
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n');
  const before = (await listFolder(server, ann, 'all')).length;
  await measure('mail in', 4 * file.length, async () => {
    for (let n = 100; n < 104; n++) {
      const answer = await postInbound(server, toMessage(n, file), { from: 'a@elsewhere.test', to: ann.email });
      expect(answer.status).toBe(202);
      await expect.poll(async () => (await listFolder(server, ann, 'all')).length).toBe(before + n - 99);
    }
  });
});

it('packs 40 MiB of small objects, and compacts the volumes after two of three are deleted', async () => {
  const count = 3_000;
  const bytes = 14_000;
  const enabled = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
  expect((await send('PUT', '/small')).status).toBe(200);
  expect((await send('PUT', '/small?versioning', Buffer.from(enabled))).status).toBe(200);
  await server.stop();
  const objects = Array.from({ length: count }, (_, n) => ({ name: `${n}`, content: randomBytes(bytes) }));
  const [file = ''] = listShards(server.directory);
  const versionIds = fillShard(file, 'small', objects);
  // Start the work by a call. Cron would do the same a minute after each start.
  const collect = async () => (await server.call('POST', '/v1/storage/gc', { pack: true, max_seconds: 300 })).body;
  await server.start();
  await warmUp();
  await measure('packing', count * bytes, async () => {
    expect(await collect()).toMatchObject({ finished: true, objects_packed: count });
  });
  const deleted = versionIds.flatMap((id, n) =>
    n % 3 > 0 ? [`<Object><Key>${n}</Key><VersionId>${id}</VersionId></Object>`] : [],
  );
  for (let at = 0; at < deleted.length; at += 1_000) {
    const list = Buffer.from(`<Delete>${deleted.slice(at, at + 1_000).join('')}</Delete>`);
    const answer = await send('POST', '/small?delete', list, {
      'content-md5': createHash('md5').update(list).digest('base64'),
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain('<Error>');
  }
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: '7200' });
  await warmUp();
  await measure('compaction', deleted.length * bytes, async () => {
    expect(await collect()).toMatchObject({ finished: true, volumes_compacted: 3 });
  });
  for (let n = 0; n < count; n += 300) {
    const answer = await send('GET', `/small/${n}`);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(objects[n]?.content);
  }
});
