import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let token = '';
beforeAll(async () => {
  server = await startServer();
  const { body } = await server.call(
    'POST',
    '/v1/auth/register',
    { email: 'eve@example.test', password: 'long enough', name: 'Eve' },
    null,
  );
  token = body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

interface Events {
  state: string;
  changes?: { type: string; folder_id?: string }[];
  resync?: boolean;
}

async function listen(query: string, headers: Record<string, string> = { authorization: `Bearer ${token}` }) {
  // Cast the options: Node's WebSocket (undici) accepts headers, unlike the standard API.
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/events${query}`, { headers } as never);
  const messages: Events[] = [];
  const waiting: (() => void)[] = [];
  socket.addEventListener('message', (event) => {
    messages.push(JSON.parse(String(event.data)) as Events);
    for (const wake of waiting.splice(0)) wake();
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  return {
    socket,
    messages,
    async until(isDone: () => boolean) {
      while (!isDone()) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
const makeFolder = async (name: string) =>
  (await server.call('POST', '/v1/folders', { name }, token)).body.id as string;

describe('the change log', () => {
  it('is pushed to WebSockets, and replayed from any state', async () => {
    const live = await listen('');
    await live.until(() => live.messages.length === 1);
    const begin = live.messages[0]?.state ?? '';
    const id = await makeFolder('One');
    await live.until(() => live.messages.length === 2);
    expect(live.messages[1]?.changes).toEqual([{ type: 'folder_created', folder_id: id }]);
    const late = await listen(`?since=${begin}`);
    await late.until(() => late.messages.length === 1);
    expect(late.messages[0]).toEqual(live.messages[1]);
    live.socket.close();
    late.socket.close();
  });

  it('misses no change between reading a list and subscribing, in any order', async () => {
    const names = Array.from({ length: 30 }, (_, n) => `Storm ${n}`);
    const storm = (async () => {
      for (const name of names) await makeFolder(name);
    })();
    const clients = await Promise.all(
      Array.from({ length: 8 }, async () => {
        // Reads the state before the list. Changes after that read arrive again as events, so none is missed.
        const { state } = (await server.call('GET', '/v1/events', undefined, token)).body as Events;
        const listed = (await server.call('GET', '/v1/folders', undefined, token)).body as { id: string }[];
        const socket = await listen(`?since=${state}`);
        return { state, known: new Set(listed.map(({ id }) => id)), ...socket };
      }),
    );
    await storm;
    const { body: end } = await server.call('GET', '/v1/events', undefined, token);
    const { body: folders } = await server.call('GET', '/v1/folders', undefined, token);
    for (const { state, known, messages, until, socket } of clients) {
      await until(() => messages.at(-1)?.state === end.state);
      const received = messages.flatMap(({ changes }) => changes ?? []);
      expect(received).toHaveLength(Number(end.state) - Number(state));
      for (const { folder_id } of received) known.add(folder_id ?? '');
      expect(known).toEqual(new Set(folders.map(({ id }: { id: string }) => id)));
      socket.close();
    }
  });

  it('answers a long poll at once if there are changes, else when a change comes', async () => {
    const all = await server.call('GET', '/v1/events?since=0', undefined, token);
    expect(all.body.changes.length).toBeGreaterThan(0);
    const waiting = server.call('GET', `/v1/events?since=${all.body.state}`, undefined, token);
    const id = await makeFolder('Two');
    expect((await waiting).body.changes).toEqual([{ type: 'folder_created', folder_id: id }]);
  });

  it('requests a resync from a client with a state of another mailbox', async () => {
    const answer = await server.call('GET', '/v1/events?since=999999', undefined, token);
    expect(answer.body).toEqual({ state: expect.stringMatching(/^\d+$/), resync: true });
    expect((await server.call('GET', '/v1/events?since=abc', undefined, token)).status).toBe(400);
  });

  it('continues after a restart', async () => {
    const before = await server.call('GET', '/v1/events', undefined, token);
    await server.kill9();
    await server.start();
    const id = await makeFolder('Three');
    const after = await server.call('GET', `/v1/events?since=${before.body.state}`, undefined, token);
    expect(after.body.changes).toEqual([{ type: 'folder_created', folder_id: id }]);
  });

  it('rejects unauthenticated clients and foreign origins', async () => {
    await expect(listen('', {})).rejects.toBeTruthy();
    await expect(listen('', { cookie: `session=${token}`, origin: 'https://evil.test' })).rejects.toBeTruthy();
  });

  it('closes a socket when its session ends', async () => {
    const ours = await listen('', { cookie: `session=${token}`, origin: server.url });
    const { body } = await server.call(
      'POST',
      '/v1/auth/login',
      { email: 'eve@example.test', password: 'long enough' },
      null,
    );
    const other = await listen('', { authorization: `Bearer ${body.token}` });
    await server.call('POST', '/v1/auth/logout', undefined, body.token);
    // Wait for the close frame, after which the socket is no longer open. The TCP connection may close later.
    while (other.socket.readyState === WebSocket.OPEN) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(ours.socket.readyState).toBe(WebSocket.OPEN);
    ours.socket.close();
  });

  it('closes a socket when the operator revokes its token', async () => {
    const { body: me } = await server.call('GET', '/v1/me', undefined, token);
    const made = await server.call('POST', '/v1/iam/tokens', { name: 't', user_id: me.user_id, scopes: ['mail'] });
    const revoked = await listen('', { authorization: `Bearer ${made.body.token}` });
    await server.call('DELETE', `/v1/iam/tokens/${made.body.token_id}`);
    while (revoked.socket.readyState === WebSocket.OPEN) await new Promise((resolve) => setTimeout(resolve, 20));
  });
});
