/**
 * The mailbox at 1,000 and at 200,000 messages (`BENCH_MESSAGES`): list, open, search, patch, deliver, through HTTP. The
 * small mailbox is the floor; the promise is that the large one is no more than three times slower.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalServer, type LocalServerOptions, startLocalServer } from '../dev/local-server.ts';
import type { StoreMessageInput } from '../durable-objects/mailbox/delivered-message.ts';
import { compare, type Load, median } from './load.ts';
import { readChildMemory } from './servers.ts';

const SMALL = 1_000;
const LARGE = Number(process.env.BENCH_MESSAGES ?? 200_000);
const PER_CALL = 250;
const TARGET = 1 / 3;

interface Box {
  readonly token: string;
  readonly userId: string;
  readonly ids: string[];
}

/** The same every time: a linear congruential generator. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Words as frequent as in language: the n-th is taken about 1/n as often as the first. */
const makeWord = (random: () => number) => `word${Math.floor(8_000 ** random())}`;

function makeMessage(n: number, random: () => number): StoreMessageInput {
  const words = (count: number) => Array.from({ length: count }, () => makeWord(random)).join(' ');
  const sender = Math.floor(300 * random() ** 2);
  return {
    deliveryKey: `bench:${n}`,
    rawKey: `mail/bench/${n}`,
    rawSha256: String(n),
    sizeBytes: 3_000 + Math.floor(20_000 * random()),
    receivedAt: Date.UTC(2016, 0, 1) + n * 120_000,
    origin: 'received',
    folder: ['inbox', 'inbox', 'inbox', 'archive', 'sent'][n % 5] ?? 'inbox',
    isRead: random() < 0.95,
    isFlagged: random() < 0.01,
    labels: random() < 0.02 ? ['label'] : [],
    envelopeFrom: '',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: false,
    parsed: {
      from: { name: `Person ${sender}`, email: `person${sender}@elsewhere.test` },
      to: [{ name: '', email: 'me@example.test' }],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: words(6),
      sentAt: null,
      messageId: `<${n}@bench>`,
      inReplyTo: n % 3 === 0 ? null : `<${n - 1}@bench>`,
      references: [],
      text: { value: `${words(80)}${n === 500 ? ' needle' : ''}`, r2Key: null },
      html: null,
      headers: [],
      attachments: [],
    },
  };
}

async function fill(server: LocalServer, name: string, count: number): Promise<Box> {
  const registered = await fetch(`${server.url}/v1/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${name}@example.test`, password: 'long enough', name }),
  });
  const { token, user } = (await registered.json()) as { token: string; user: { user_id: string } };
  const namespace = await server.miniflare.getDurableObjectNamespace('MAILBOX');
  const stub = namespace.get(namespace.idFromName(user.user_id)) as unknown as {
    command(
      name: 'storeMessages',
      inputs: StoreMessageInput[],
    ): Promise<{ ok: boolean; value: { ok: boolean; value: { messageId: string } }[] }>;
  };
  const random = createRandom(7);
  const ids: string[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < count; n += PER_CALL) {
    const inputs = Array.from({ length: Math.min(PER_CALL, count - n) }, (_, at) => makeMessage(n + at, random));
    const stored = await stub.command('storeMessages', inputs);
    for (const each of stored.value) if (ids.length < 2_000 || n % 97 === 0) ids.push(each.value.messageId);
  }
  console.log(`filled ${count} messages, ${Math.round(count / ((performance.now() - startedAt) / 1_000))}/s`);
  return { token, userId: user.user_id, ids };
}

/** Every request of its own: lines of Lua that take the next of many paths or bodies. */
function manyRequests(
  token: string,
  requests: readonly { method: string; path: string; body?: string; type?: string }[],
): string {
  const rows = requests.map(
    ({ method, path, body, type }) =>
      `{${[method, path, body ?? '', type ?? 'application/json'].map((text) => JSON.stringify(text)).join(',')}}`,
  );
  return `local rows = {${rows.join(',\n')}}
local at = math.random(#rows)
request = function()
  at = at % #rows + 1
  local row = rows[at]
  return wrk.format(row[1], row[2], {["authorization"]="Bearer ${token}", ["content-type"]=row[4]}, row[3])
end`;
}

export async function runMailbox(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-mail-'));
  const vars = {
    ROOT_TOKEN: 'root',
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    MAIL_DOMAINS: 'example.test',
    REGISTRATION: 'open',
  };
  const options = { host: '127.0.0.1', port: 0, stateDirectory: directory, vars };
  const server = await startLocalServer(options);
  let isStopped = false;
  try {
    const small = await fill(server, 'small', SMALL);
    const large = await fill(server, 'large', LARGE);
    const load = { url: server.url, connections: 2, seconds: 3 };
    const get =
      (path: (box: Box) => string) =>
      (box: Box): Load => ({ ...load, url: server.url + path(box), headers: { authorization: `Bearer ${box.token}` } });
    const cases: readonly [string, (box: Box) => Load][] = [
      ['list the Inbox', get(() => '/v1/folders/inbox/messages')],
      ['list All, deep in it', get((box) => `/v1/folders/all/messages?cursor=${cursorAt(box)}`)],
      ['list folders with counts', get(() => '/v1/folders')],
      [
        'open a message',
        (box) => ({
          ...load,
          script: manyRequests(
            box.token,
            box.ids.slice(0, 500).map((id) => ({ method: 'GET', path: `/v1/messages/${id}` })),
          ),
        }),
      ],
      ['search: one hit', get(() => '/v1/messages?q=needle')],
      ['search: a word in most', get(() => '/v1/messages?q=word1')],
      ['search: a word in 1%', get(() => '/v1/messages?q=word900')],
      ['search: phrase', get(() => '/v1/messages?q=%22word1%20word2%22')],
      ['search: prefix', get(() => '/v1/messages?q=word10*')],
      ['search: a phrase that is rare', get(() => '/v1/messages?q=%22word1%20word2%20word3%20word4%22')],
      // The small mailbox has ten such messages: the same ten are asked of the large one.
      ['search: common word, flagged', get(() => '/v1/messages?q=word1%20is:flagged&limit=10')],
      ['search: rare word, flagged', get(() => '/v1/messages?q=word900%20is:flagged')],
      ['search: common word, large, read', get(() => '/v1/messages?q=word1%20larger:22K%20is:read&limit=10')],
      ['search: one word or a flag', get(() => '/v1/messages?q=(word900%20OR%20is:flagged)&limit=10')],
      ['search: sender and word', get(() => '/v1/messages?q=from:person3%20word2')],
      ['search: unread', get(() => '/v1/messages?q=is:unread')],
      ['search: label', get(() => '/v1/messages?q=label:label')],
      ['search: not a common word', get(() => '/v1/messages?q=-word1%20-word2')],
      ['search: nothing found', get(() => '/v1/messages?q=absent%20word1')],
      [
        'patch',
        (box) => ({
          ...load,
          script: manyRequests(
            box.token,
            box.ids
              .slice(0, 500)
              .map((id, n) => ({ method: 'PATCH', path: `/v1/messages/${id}`, body: `{"is_read":${n % 2 === 0}}` })),
          ),
        }),
      ],
      ['deliver', (box) => ({ ...load, script: deliveries(box) })],
    ];
    for (const [name, loadOf] of cases) {
      await compare({ name, floor: loadOf(small), ours: loadOf(large), rounds: 3, target: TARGET });
    }
    await server.stop();
    isStopped = true;
    for (const [name, box] of Object.entries({ small, large })) await measureStart(options, name, box);
    console.log(`state on disk: ${Math.round(sizeOf(directory) / 1024 / 1024)} MiB for ${SMALL + LARGE} messages`);
  } finally {
    if (!isStopped) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A fresh process: what the first request to a mailbox waits for, and the memory with that mailbox open and searched. */
async function measureStart(options: LocalServerOptions, name: string, box: Box): Promise<void> {
  const times: number[] = [];
  const memories: number[] = [];
  for (let round = 0; round < 3; round++) {
    const server = await startLocalServer(options);
    const get = async (path: string) => {
      const answer = await fetch(server.url + path, { headers: { authorization: `Bearer ${box.token}` } });
      await answer.arrayBuffer();
    };
    try {
      // The Worker and the identity store are warm, the mailbox is not.
      await get('/v1/me/sessions');
      const startedAt = performance.now();
      await get('/v1/folders/inbox/messages');
      times.push(performance.now() - startedAt);
      const before = readChildMemory();
      for (const query of ['word1', 'word900', '-word1 -word2', 'word10*', 'is:unread']) {
        await get(`/v1/messages?q=${encodeURIComponent(query)}`);
      }
      memories.push(readChildMemory() - before);
    } finally {
      await server.stop();
    }
  }
  console.log(
    `${name}: first list of a mailbox that slept ${median(times).toFixed(1)} ms; five searches take ${median(memories).toFixed(0)} MiB more`,
  );
}

/** The middle of the mailbox: a position is microseconds since 1970. */
function cursorAt(box: Box): string {
  const count = box.ids.length < 1_500 ? SMALL : LARGE;
  return Buffer.from(JSON.stringify([(Date.UTC(2016, 0, 1) + (count / 2) * 120_000) * 1_000])).toString('base64url');
}

/** Single messages of about 1 KB, each different, by `POST /v1/import`: parse, R2, transaction. */
const deliveries = (box: Box): string => `
local n = 0
request = function()
  n = n + 1
  local body = "From: a@elsewhere.test\\r\\nSubject: word" .. math.random(8000) .. "\\r\\nMessage-ID: <" .. n .. "." .. math.random(1000000000) .. "@x>\\r\\n\\r\\n" .. string.rep("word" .. math.random(8000) .. " and more text ", 40)
  return wrk.format("POST", "/v1/import", {["authorization"]="Bearer ${box.token}", ["content-type"]="message/rfc822"}, body)
end`;

const sizeOf = (path: string): number =>
  readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
