import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toFirstCommands } from '../../../dev/local/first-commands.ts';
import { until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/**
 * Time limit of a command in milliseconds. Synchronous calls stop the test's own timeout, so a command that hangs needs its own
 * limit.
 */
const COMMAND_LIMIT_MS = 100_000;

/** Runs `npm run demo` against the server of this test. */
const demo = (port = new URL(server.url).port): string =>
  execFileSync(process.execPath, ['dev/local/demo.ts'], {
    cwd: join(import.meta.dirname, '../../..'),
    encoding: 'utf8',
    timeout: COMMAND_LIMIT_MS,
    env: { ...process.env, PORT: port, DEV_VARS: join(server.directory, 'dev.vars') },
  });

const paste = (commands: string): string =>
  execFileSync('sh', ['-e'], {
    input: commands,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: COMMAND_LIMIT_MS,
  });

it('prints first commands that work when they are pasted', async () => {
  const base = server.url.replace('127.0.0.1', 'localhost');
  const first = toFirstCommands(base, join(server.directory, 'dev.vars'));
  const printed = () => readFileSync(join(server.directory, 'server.log'), 'utf8');
  for (const block of Object.values(first)) await expect.poll(printed).toContain(block);
  expect(paste(first.storage)).toBe('Hello from the edge\n');
  expect(paste(first.leaderboard)).toContain('"data":[{"user_id":"ada"');
  expect(JSON.parse(paste(first.mail))).toMatchObject({ user: { email: 'me@example.test' } });
});

it('fills the server with data for each product, also a second time', async () => {
  expect(demo()).toMatch(
    /storage: bucket album-\S+ with 6 objects[\s\S]*leaderboard: 400 players[\s\S]*mail: sign in as ada@/,
  );
  const second = demo();
  const [, secret = ''] = /secret {5}(\S+)/.exec(second) ?? [];
  const [, accessKeyId = ''] = /access key (\S+)/.exec(second) ?? [];
  const [, bucket = ''] = /bucket (\S+)/.exec(second) ?? [];
  const s3 = createSdkClient(server.url, { accessKeyId, secretAccessKey: secret });
  expect((await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(6);
  const { body: board } = await server.call('GET', '/v1/scores?limit=1', undefined, null);
  expect(board.data[0].user_id).toMatch(/^player-/);
  const login = { email: 'ada@example.test', password: 'correct horse battery' };
  const { body: session } = await server.call('POST', '/v1/auth/login', login, null);
  const inbox = await until('the letters', async () => {
    const { body } = await server.call('GET', '/v1/messages?limit=50', undefined, session.token);
    return body.data.length >= 6 ? body.data : undefined;
  });
  expect(inbox.map(({ subject }: { subject: string }) => subject)).toContain('The lake house, 12 to 14 June');
});
