/** Starts the server with each subset of the products in `PRODUCTS`, one after the other on the same state. */
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awaitMessage, type MailUser, postInbound, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

const PRODUCTS = ['storage', 'leaderboard', 'mail'] as const;
type ProductName = (typeof PRODUCTS)[number];
/** All non-empty subsets of the three products. Bit `n` of a number selects product `n`. */
const SUBSETS = [1, 2, 3, 4, 5, 6, 7].map((bits) => PRODUCTS.filter((_, n) => (bits >> n) & 1));

let server: TestServer;
let s3: S3Client;
let ann: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
  s3 = createSdkClient(server.url, await server.createAccessKey('keeper'));
  ann = await registerUser(server, 'ann');
});
afterAll(() => server[Symbol.asyncDispose]());

/** Uses a product over HTTP. @returns true if it did its work, false if the server does not know it. */
const USES: Readonly<Record<ProductName, () => Promise<boolean>>> = {
  async storage() {
    const found = await s3.send(new GetObjectCommand({ Bucket: 'kept', Key: 'a.txt' })).catch(() => null);
    const { status } = await server.call('GET', '/v1/storage/stats');
    expect(status).toBe(found ? 200 : 404);
    return (await found?.Body?.transformToString()) === 'kept';
  },
  async leaderboard() {
    const { status, body } = await server.call('GET', '/v1/scores', undefined, null);
    expect(status === 404 || body.data[0].user_name === 'Ada').toBe(true);
    return status === 200;
  },
  async mail() {
    const { status, body } = await server.call('GET', '/v1/messages', undefined, ann.token);
    expect(status === 404 || body.data.length > 0).toBe(true);
    return status === 200;
  },
};

const statusOf = async (path: string): Promise<number> => (await fetch(server.url + path)).status;

it('stores data in each product, with all products served', async () => {
  await s3.send(new CreateBucketCommand({ Bucket: 'kept' }));
  await s3.send(new PutObjectCommand({ Bucket: 'kept', Key: 'a.txt', Body: 'kept' }));
  const { body: made } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const score = { user_id: 'ada', user_name: 'Ada', points: 3 };
  expect((await server.call('POST', '/v1/scores', score, made.token)).status).toBe(200);
  const letter = 'From: b@elsewhere.test\r\nSubject: Kept\r\n\r\nKept.\r\n';
  await postInbound(server, letter, { from: 'b@elsewhere.test', to: ann.email });
  await awaitMessage(server, ann, 'inbox', 'Kept');
});

for (const served of SUBSETS) {
  it(`serves ${served.join(' and ')}`, async () => {
    await server.stop();
    await server.start({ PRODUCTS: served.join(',') });
    expect((await server.call('GET', '/v1/health', undefined, null)).body).toMatchObject({ status: 'ok' });
    expect((await (await fetch(`${server.url}/_/config.json`)).json()) as object).toMatchObject({ products: served });
    const { body: document } = await server.call('GET', '/v1/openapi.json', undefined, null);
    const paths = Object.keys(document.paths);
    expect(paths).toContain('/v1/iam/users');
    const rebuild = await server.call('POST', '/v1/storage/directory/rebuild');
    expect(rebuild).toMatchObject({ status: 409, body: { code: 'not_empty' } });
    expect((await server.call('POST', '/v1/storage/directory/rebuild', undefined, null)).status).toBe(401);
    const pages = { storage: '/_/storage', leaderboard: '/_/leaderboard', mail: '/_/mail' };
    const routes = { storage: '/v1/storage/stats', leaderboard: '/v1/scores', mail: '/v1/messages' };
    for (const product of PRODUCTS) {
      const isServed = served.includes(product);
      expect([product, await USES[product]()]).toEqual([product, isServed]);
      expect([product, paths.includes(routes[product])]).toEqual([product, isServed]);
      expect([product, await statusOf(pages[product])]).toEqual([product, isServed ? 200 : 404]);
    }
    for (const page of ['/_/', '/_/docs', '/_/operator']) expect([page, await statusOf(page)]).toEqual([page, 200]);
  });
}

it('lets users of mail make access keys only where storage is served', async () => {
  await server.stop();
  await server.start({ PRODUCTS: 'mail' });
  const body = { password: 'correct horse battery', expires_at: new Date(Date.now() + 86_400_000).toISOString() };
  const { body: problem } = await server.call('POST', '/v1/me/access-keys', body, ann.token);
  expect(problem).toMatchObject({ status: 403, code: 'keys_assigned' });
});
