/** Tests that clients that only read the change log end up equal to the mailbox, despite lost connections and restarts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  awaitMessage,
  confirmSession,
  listFolder,
  type MailUser,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const OPERATIONS = 60;
const MONTH_SECONDS = 31 * 24 * 3_600;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

interface Known {
  folder_id?: string;
  thread_id?: string;
  is_read?: boolean;
  is_flagged?: boolean;
}
interface Events {
  state: string;
  changes?: ({ type: string; message_id?: string } & Known)[];
  resync?: true;
}

/** A copy of the mailbox to which the change log is applied, for every transport of the log. */
class Replica {
  readonly messages = new Map<string, Known>();
  state = '0';
  resyncs = 0;

  apply({ state, changes, resync }: Events): void {
    if (resync) this.resyncs += 1;
    for (const { type, message_id: id, ...change } of changes ?? []) {
      if (id === undefined) continue;
      if (type === 'message_deleted') this.messages.delete(id);
      else if (type === 'message_created' || type === 'message_updated') {
        const { folder_id, thread_id, is_read, is_flagged } = { ...this.messages.get(id), ...change };
        this.messages.set(id, {
          ...(folder_id === undefined ? {} : { folder_id }),
          ...(thread_id === undefined ? {} : { thread_id }),
          ...(is_read === undefined ? {} : { is_read }),
          ...(is_flagged === undefined ? {} : { is_flagged }),
        });
      }
    }
    this.state = state;
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Reconnects with the last state whenever the socket closes. */
function followBySocket(user: MailUser, replica: Replica) {
  let socket: WebSocket | undefined;
  let isOver = false;
  let drops = 0;
  const connect = () => {
    if (isOver) return;
    const url = `${server.url.replace('http', 'ws')}/v1/events?since=${replica.state}`;
    const mine = new WebSocket(url, { headers: { authorization: `Bearer ${user.token}` } } as never);
    socket = mine;
    mine.addEventListener('message', (event) => {
      // Ignore events of an abandoned socket. Its successor receives them again.
      if (socket === mine) replica.apply(JSON.parse(String(event.data)) as Events);
    });
    const again = () => {
      if (socket !== mine) return;
      socket = undefined;
      setTimeout(connect, 50);
    };
    mine.addEventListener('close', again);
    mine.addEventListener('error', again);
  };
  connect();
  return {
    get drops() {
      return drops;
    },
    drop() {
      drops += 1;
      const old = socket;
      socket = undefined;
      old?.close();
      connect();
    },
    end() {
      isOver = true;
      socket?.close();
    },
  };
}

function followByPoll(user: MailUser, replica: Replica) {
  let controller = new AbortController();
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      try {
        const answer = await fetch(`${server.url}/v1/events?since=${replica.state}`, {
          headers: { authorization: `Bearer ${user.token}` },
          signal: controller.signal,
        });
        if (answer.ok) replica.apply((await answer.json()) as Events);
        else await pause(50);
      } catch {
        await pause(50);
      }
    }
  };
  const running = run();
  const drop = () => {
    controller.abort();
    controller = new AbortController();
  };
  return {
    drop,
    async end() {
      isOver = true;
      drop();
      await running;
    },
  };
}

/** Makes a generator of numbers. @returns the same numbers for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Repeats a call while the server is down. */
async function insist(user: MailUser, method: string, path: string, body?: unknown) {
  return until(`${method} ${path}`, async () => {
    const answer = await server.call(method, path, body, user.token).catch(() => undefined);
    return answer && answer.status < 500 ? answer : undefined;
  });
}

async function importOne(user: MailUser, n: number, random: (below: number) => number): Promise<void> {
  const parent = random(3) === 0 ? `In-Reply-To: <${random(n + 1)}@far.test>\r\n` : '';
  const raw = `From: a@far.test\r\nSubject: ${n}\r\nMessage-ID: <${n}@far.test>\r\n${parent}\r\nbody ${n}\r\n`;
  await until('import', async () => {
    const answer = await fetch(`${server.url}/v1/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.token}`, 'content-type': 'message/rfc822' },
      body: raw,
    }).catch(() => undefined);
    return answer?.ok ? true : undefined;
  });
}

/** Reads the whole mailbox, as a new client does. */
async function readWhole(user: MailUser): Promise<Map<string, Known>> {
  const whole = new Map<string, Known>();
  for (const role of ['all', 'junk', 'trash']) {
    for (const { id, folder_id, thread_id, is_read, is_flagged } of await listFolder(server, user, role)) {
      whole.set(id, { folder_id, thread_id, is_read, is_flagged });
    }
  }
  return whole;
}

describe('clients of the change log', () => {
  it('equal the mailbox after random operations, lost connections and a killed server', async () => {
    console.log(`seed ${SEED}`);
    const random = createRandom(SEED);
    const user = await registerUser(server, 'followed');
    const [bySocket, byPoll] = [new Replica(), new Replica()];
    const socket = followBySocket(user, bySocket);
    const poll = followByPoll(user, byPoll);
    const { body: folders } = await server.call('GET', '/v1/folders', undefined, user.token);
    const targets: string[] = folders
      .filter(({ role }: { role: string }) => role !== 'all' && role !== 'flagged')
      .map(({ id }: { id: string }) => id);
    for (let n = 0; n < OPERATIONS; n += 1) {
      const ids = [...bySocket.messages.keys()];
      const some = Array.from({ length: 1 + random(4) }, () => ids[random(ids.length)] ?? 'none');
      const target = targets[random(targets.length)];
      const kind = random(10);
      if (kind < 4) await importOne(user, n, random);
      else if (kind < 6)
        await insist(user, 'POST', '/v1/messages/batch', { message_ids: some, is_read: random(2) === 0 });
      else if (kind < 7) await insist(user, 'POST', '/v1/messages/batch', { message_ids: some, folder_id: target });
      else if (kind < 8) await insist(user, 'POST', '/v1/messages/batch', { message_ids: some, is_flagged: true });
      else if (kind < 9) await insist(user, 'POST', '/v1/messages/batch', { message_ids: some, delete: true });
      else await insist(user, 'POST', '/v1/drafts', { subject: `draft ${n}` });
      if (random(6) === 0) socket.drop();
      if (random(6) === 0) poll.drop();
      if (n === Math.floor(OPERATIONS / 3) || n === Math.floor((2 * OPERATIONS) / 3)) {
        // Kills the server in the middle of the next operation.
        const restarted = pause(random(30))
          .then(() => server.kill9())
          .then(() => server.start());
        await importOne(user, 1_000 + n, random);
        await restarted;
      }
    }
    const { body: now } = await insist(user, 'GET', '/v1/events');
    await until('both have received all changes', async () =>
      bySocket.state === now.state && byPoll.state === now.state ? true : undefined,
    );
    socket.end();
    await poll.end();
    expect(socket.drops).toBeGreaterThan(0);
    const whole = await readWhole(user);
    expect(whole.size).toBeGreaterThan(10);
    expect([bySocket.resyncs, byPoll.resyncs]).toEqual([0, 0]);
    expect(new Map([...bySocket.messages].sort())).toEqual(new Map([...whole].sort()));
    expect(new Map([...byPoll.messages].sort())).toEqual(new Map([...whole].sort()));
  });

  it('that were offline for a month must resync, and then continue', async () => {
    const registered = await registerUser(server, 'traveller');
    await confirmSession(server, registered.token);
    // Use an app token, because a session lasts less than a month and an app token longer.
    const { body: app } = await server.call('POST', '/v1/me/tokens', { name: 'laptop' }, registered.token);
    const user = { ...registered, token: app.token as string };
    await awaitMessage(server, user, 'inbox', 'Security notice: New app token');
    await importOne(user, 1, () => 1);
    const { body: before } = await server.call('GET', '/v1/events', undefined, user.token);
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: String(MONTH_SECONDS) });
    // Write once more: the daily alarm that trims the change log is overdue and then runs.
    await importOne(user, 2, () => 1);
    const answer = await until('the log was pruned', async () => {
      const { body } = await server.call('GET', '/v1/events?since=0', undefined, user.token);
      return body.resync ? body : undefined;
    });
    expect(answer).toEqual({ state: expect.stringMatching(/^\d+$/), resync: true });
    expect(Number(answer.state)).toBeGreaterThan(Number(before.state));
    expect((await readWhole(user)).size).toBe(3);
    await server.call('POST', '/v1/folders', { name: 'Home again' }, user.token);
    const { body: next } = await server.call('GET', `/v1/events?since=${answer.state}`, undefined, user.token);
    expect(next.changes).toEqual([{ type: 'folder_created', folder_id: expect.any(String) }]);
  });
});
