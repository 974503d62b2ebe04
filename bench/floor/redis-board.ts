/**
 * A leaderboard on Redis behind a plain HTTP server, for `npm run bench -- leaderboard rate`. Each post runs one Redis script: it
 * checks the event id, updates the sorted set and reads the rank. Redis syncs its log before each answer. This program prints its
 * port.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '../../test/support/leaderboard/redis.ts';

const EVENT_SECONDS = 49 * 3_600;
const SCRIPT = `
local first = redis.call('GET', KEYS[2])
if first then return first end
local score = redis.call('ZINCRBY', KEYS[1], ARGV[2], ARGV[1])
local rank = redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') + 1
local answer = cjson.encode({user_info = {user_id = ARGV[1], score = tonumber(score), rank = rank}})
redis.call('SET', KEYS[2], answer, 'EX', ${EVENT_SECONDS})
return answer`;

const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-redis-'));
const redis = await startRedis(['--dir', directory, '--appendonly', 'yes', '--appendfsync', 'always']);
const script = String(await redis.command('SCRIPT', 'LOAD', SCRIPT));

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

async function answer(request: IncomingMessage): Promise<string> {
  if (request.method === 'POST') {
    const { user_id, points, event_id } = JSON.parse(await read(request));
    return String(await redis.command('EVALSHA', script, 2, 'board', `event:${user_id}:${event_id}`, user_id, points));
  }
  const list = (await redis.command('ZREVRANGE', 'board', 0, 9, 'WITHSCORES')) as string[];
  const data = list.flatMap((user_id, i) => (i % 2 === 0 ? [{ user_id, score: Number(list[i + 1]) }] : []));
  return JSON.stringify({ data });
}

const server = createServer(async (request, response) => {
  const body = await answer(request);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
});
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port, pid: redis.pid })),
);
process.once('SIGTERM', async () => {
  await redis.stop();
  rmSync(directory, { recursive: true, force: true });
  process.exit(0);
});
