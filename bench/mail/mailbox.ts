/**
 * Compares mailboxes with 1,000 and 200,000 messages (`BENCH_MESSAGES`) over HTTP: list, open, search, patch, deliver. The
 * small mailbox is the floor. The promise is that the large one is at most three times slower.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalServerOptions, startLocalServer } from '../../dev/local/local-server.ts';
import { compare, type Load, median } from '../shared/load.ts';
import { readChildMemory } from '../shared/servers.ts';
import { type Box, createFiller, fillMailbox } from './fill-mailbox.ts';
import { wordOfRank } from './mailbox-text.ts';

const SMALL = 1_000;
const LARGE = Number(process.env.BENCH_MESSAGES ?? 200_000);
const TARGET = 1 / 3;
const INDEX_MERGE_MS = 30_000;
const [COMMON, SECOND, SELDOM, RARE] = [wordOfRank(0), wordOfRank(1), wordOfRank(870), wordOfRank(3_000)];

/** Makes a Lua script for wrk that cycles through up to 1,000 different requests. */
function manyRequests(
  { token, ids }: Box,
  toRequest: (id: string, n: number) => { method?: string; path: string; body?: string },
): string {
  const rows = ids.slice(0, 1_000).map((id, n) => {
    const { method = 'GET', path, body = '' } = toRequest(id, n);
    return `{${[method, path, body].map((text) => JSON.stringify(text)).join(',')}}`;
  });
  return `local rows = {${rows.join(',\n')}}
local at = math.random(#rows)
request = function()
  at = at % #rows + 1
  local row = rows[at]
  return wrk.format(row[1], row[2], {["authorization"]="Bearer ${token}", ["content-type"]="application/json"}, row[3])
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
  const server = await startLocalServer({ ...options, beside: [createFiller()] });
  let isStopped = false;
  try {
    const small = await fillMailbox(server, 'small', SMALL);
    const large = await fillMailbox(server, 'large', LARGE);
    // Real mail arrives over years, so its search index is merged meanwhile. Pause, so that this mailbox can merge its index too.
    await new Promise((resolve) => setTimeout(resolve, INDEX_MERGE_MS));
    const load = { url: server.url, connections: 2, seconds: 1 };
    const get =
      (path: (box: Box) => string) =>
      (box: Box): Load => ({ ...load, url: server.url + path(box), headers: { authorization: `Bearer ${box.token}` } });
    const search = (query: string) => get(() => `/v1/messages?q=${encodeURIComponent(query)}`);
    // Compare searches with the same number of results, because each result costs a snippet. The limits are the numbers of results
    // in the small mailbox.
    const searchTen = (query: string) => get(() => `/v1/messages?limit=10&q=${encodeURIComponent(query)}`);
    const searchOne = (query: string) => get(() => `/v1/messages?limit=1&q=${encodeURIComponent(query)}`);
    const cases: readonly [string, (box: Box) => Load][] = [
      ['list the Inbox', get(() => '/v1/folders/inbox/messages')],
      ['list All, from the middle', get((box) => `/v1/folders/all/messages?cursor=${cursorAt(box)}`)],
      ['list folders with counts', get(() => '/v1/folders')],
      ['open a message', (box) => ({ ...load, script: manyRequests(box, (id) => ({ path: `/v1/messages/${id}` })) })],
      ['search: one hit', search('needle')],
      ['search: a word in every message', search(COMMON)],
      ['search: a word in 1%', searchTen(SELDOM)],
      ['search: a word in 0.3%', searchOne(RARE)],
      ['search: phrase', search(`"${COMMON} ${SECOND}"`)],
      ['search: prefix', search(`${SELDOM.slice(0, 3)}*`)],
      ['search: rare phrase', searchOne(`"${COMMON} ${SECOND} ${COMMON} ${SECOND}"`)],
      ['search: common word, flagged', searchTen(`${COMMON} is:flagged`)],
      ['search: rare word, flagged', searchOne(`${SELDOM} is:flagged`)],
      ['search: common word, large, read', searchTen(`${COMMON} larger:22K is:read`)],
      ['search: word or flag', searchTen(`(${SELDOM} OR is:flagged)`)],
      ['search: sender and word', searchTen(`from:person3 ${COMMON}`)],
      ['search: word in a folder', search(`in:archive ${COMMON}`)],
      ['search: rare word in a folder', searchOne(`in:archive ${RARE}`)],
      ['search: unread', search('is:unread')],
      ['search: label', searchTen('label:label')],
      ['search: not a common word', search(`-${COMMON} -${SECOND}`)],
      ['search: between two days', search(`after:2016-01-01 before:2016-01-02 ${COMMON}`)],
      ['search: nothing found', search(`absent ${COMMON}`)],
      [
        'patch',
        (box) => ({
          ...load,
          script: manyRequests(box, (id, n) => ({
            method: 'PATCH',
            path: `/v1/messages/${id}`,
            body: `{"is_read":${n % 2 === 0}}`,
          })),
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

/** Measures the first request to a mailbox in a new process, and the memory that five searches add. */
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
      // Warms up the Worker and the identity store, but not the mailbox.
      await get('/v1/me/sessions');
      const startedAt = performance.now();
      await get('/v1/folders/inbox/messages');
      times.push(performance.now() - startedAt);
      const before = readChildMemory();
      for (const query of [COMMON, SELDOM, `-${COMMON} -${SECOND}`, `${SELDOM.slice(0, 3)}*`, 'is:unread']) {
        await get(`/v1/messages?q=${encodeURIComponent(query)}`);
      }
      memories.push(readChildMemory() - before);
    } finally {
      await server.stop();
    }
  }
  console.log(
    `${name}: first list of a sleeping mailbox ${median(times).toFixed(1)} ms; five searches add ${median(memories).toFixed(0)} MiB`,
  );
}

/** Makes a cursor at the middle of the mailbox from a position in microseconds since 1970. */
function cursorAt(box: Box): string {
  return Buffer.from(JSON.stringify([(Date.UTC(2016, 0, 1) + (box.count / 2) * 120_000) * 1_000])).toString(
    'base64url',
  );
}

/**
 * Lua script for wrk that imports different messages of about 1 KB through `POST /v1/import`, which parses, writes to R2 and
 * commits.
 */
const deliveries = (box: Box): string => `
local n = 0
request = function()
  n = n + 1
  local body = "From: a@elsewhere.test\\r\\nSubject: number" .. math.random(8000) .. "\\r\\nMessage-ID: <" .. n .. "." .. math.random(1000000000) .. "@x>\\r\\n\\r\\n" .. string.rep("number" .. math.random(8000) .. " and more text ", 40)
  return wrk.format("POST", "/v1/import", {["authorization"]="Bearer ${box.token}", ["content-type"]="message/rfc822"}, body)
end`;

const sizeOf = (path: string): number =>
  readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
