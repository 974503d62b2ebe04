/**
 * Tests webhooks of ended seasons: signed, at least once with one id, through kills of the server and an outage of the receiver.
 */
import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { type Received, WebhookReceiver } from '../../support/webhook-receiver.ts';

const clockAt = (time: string) => ({
  CLOCK_OFFSET_SECONDS: String(Math.round((Date.parse(time) - Date.now()) / 1000)),
});
let server: TestServer;
let receiver: WebhookReceiver;

/** Verifies a webhook with the local clock set to the time of its signature, because the server's clock is ahead. */
function verify({ headers, body }: Received, secret: string): unknown {
  vi.useFakeTimers({ toFake: ['Date'], now: Number(headers['webhook-timestamp']) * 1_000 });
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}
const ofBoard = (messages: readonly Received[], board: string) =>
  messages.filter(({ body }) => JSON.parse(body).data.board === board);

async function makeBoard(): Promise<{ board: string; secret: string }> {
  const board = `hook-${randomUUID().slice(0, 8)}`;
  const rules = { title: 'Days', sort: 'desc', operator: 'sum', period: 'day', public: true };
  expect((await server.call('PUT', `/v1/boards/${board}`, rules)).status).toBe(200);
  const set = await server.call('PUT', `/v1/boards/${board}/webhook`, { url: receiver.url });
  expect(set).toMatchObject({ status: 200, body: { url: receiver.url } });
  return { board, secret: set.body.secret };
}
async function post(path: string): Promise<void> {
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: randomUUID(), scopes: ['scores:write'] });
  expect((await server.call('POST', path, { user_id: 'ada', points: 5 }, body.token)).status).toBe(200);
}
const waiting = async (board: string) => (await server.call('GET', `/v1/boards/${board}/webhook`)).body.waiting;
const killUntil = async (time: string) => {
  await server.kill9();
  await server.start(clockAt(time));
};

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  // With short days of lifecycle rules, cron runs every second.
  server = await startServer({ vars: { LIFECYCLE_DAY_SECONDS: '10', ...clockAt('2041-03-31T12:00:00Z') } });
});
afterAll(async () => {
  await receiver.stop();
  await server[Symbol.asyncDispose]();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the webhook of a board', () => {
  it('has a secret that is shown once, and a public URL', async () => {
    const { board, secret } = await makeBoard();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const path = `/v1/boards/${board}/webhook`;
    const url = 'https://hooks.example.com/seasons';
    expect((await server.call('PUT', path, { url })).body).toMatchObject({ url, secret: null });
    expect(await server.call('GET', path)).toMatchObject({ status: 200, body: { url, waiting: [] } });
    expect(JSON.stringify((await server.call('GET', path)).body)).not.toContain('whsec_');
    for (const bad of ['https://10.0.0.1/', 'https://localhost/', 'http://hooks.example.com/', 'https://db.internal/'])
      expect([bad, (await server.call('PUT', path, { url: bad })).body.code]).toEqual([bad, 'invalid_request']);
    const unknown = await server.call('PUT', `/v1/boards/none-${randomUUID().slice(0, 8)}/webhook`, { url });
    expect(unknown.body.code).toBe('unknown_board');
    expect((await server.call('DELETE', path)).status).toBe(204);
    for (const [method, end] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
    ] as const)
      expect((await server.call(method, path + end)).body.code).toBe('no_webhook');
  });

  it('reports each ended season until the receiver accepts it, with one id and both secrets of a rotation', async () => {
    const { board, secret } = await makeBoard();
    const ofDefault = await server.call('PUT', '/v1/boards/default/webhook', { url: receiver.url });
    await post(`/v1/boards/${board}/scores`);
    await post('/v1/scores');
    receiver.status = 503;
    await killUntil('2041-04-01T00:00:05Z');
    for (const name of [board, 'default'])
      await expect.poll(() => ofBoard(receiver.refused, name).length, { timeout: 60_000 }).toBeGreaterThan(0);
    await expect.poll(() => waiting(board)).toEqual([expect.objectContaining({ season: '2041-03-31', status: 503 })]);
    const rotated = await server.call('POST', `/v1/boards/${board}/webhook/rotate`);
    expect(rotated.body.secret).not.toBe(secret);
    receiver.status = 200;
    await killUntil('2041-04-01T01:00:00Z');
    for (const name of [board, 'default'])
      await expect.poll(() => ofBoard(receiver.received, name).length, { timeout: 60_000 }).toBeGreaterThan(0);
    await expect.poll(() => waiting(board)).toEqual([]);
    const [first] = ofBoard(receiver.refused, board) as [Received];
    const [accepted] = ofBoard(receiver.received, board) as [Received];
    expect([accepted.headers['webhook-id'], accepted.body]).toEqual([first.headers['webhook-id'], first.body]);
    for (const known of [secret, rotated.body.secret]) {
      expect(verify(accepted, known)).toMatchObject({
        type: 'season.ended',
        data: { board, season: '2041-03-31', players: 1, ended_at: '2041-04-01T00:00:00.000Z' },
      });
    }
    const [month] = ofBoard(receiver.received, 'default') as [Received];
    expect(verify(month, ofDefault.body.secret)).toMatchObject({
      data: { board: 'default', season: '2041-03', players: 1 },
    });
    expect(() => verify(month, secret)).toThrow('No matching signature');
    vi.useRealTimers();
    // A day after the rotation, webhooks must no longer be signed with the earlier secret.
    await post(`/v1/boards/${board}/scores`);
    await killUntil('2041-04-02T02:00:00Z');
    await expect.poll(() => ofBoard(receiver.received, board).length, { timeout: 60_000 }).toBeGreaterThan(1);
    const later = ofBoard(receiver.received, board).at(-1) as Received;
    expect(later.headers['webhook-id']).not.toBe(first.headers['webhook-id']);
    expect(verify(later, rotated.body.secret)).toMatchObject({ data: { board, season: '2041-04-01' } });
    expect(() => verify(later, secret)).toThrow('No matching signature');
  });

  it('drops notices that no receiver accepted for three days', async () => {
    const { board } = await makeBoard();
    await post(`/v1/boards/${board}/scores`);
    receiver.status = 500;
    await killUntil('2041-04-03T00:00:05Z');
    await expect.poll(() => ofBoard(receiver.refused, board).length, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(await waiting(board)).toHaveLength(1);
    await killUntil('2041-04-06T00:10:00Z');
    await expect.poll(() => waiting(board), { timeout: 60_000 }).toEqual([]);
    expect(ofBoard(receiver.received, board)).toEqual([]);
    expect(ofBoard(receiver.refused, board).length).toBeGreaterThan(1);
  });
});
