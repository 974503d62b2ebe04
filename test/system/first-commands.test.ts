import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toFirstCommands } from '../../dev/first-commands.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const paste = (commands: string): string =>
  execFileSync('sh', ['-e'], { input: commands, encoding: 'utf8', stdio: ['pipe', 'pipe', 'inherit'] });

it('prints first commands that work when they are pasted', async () => {
  const base = server.url.replace('127.0.0.1', 'localhost');
  const first = toFirstCommands(base, join(server.directory, 'dev.vars'));
  const printed = () => readFileSync(join(server.directory, 'server.log'), 'utf8');
  for (const block of Object.values(first)) await expect.poll(printed).toContain(block);
  expect(paste(first.storage)).toBe('Hello from the edge\n');
  expect(paste(first.leaderboard)).toContain('"user_id":"ada"');
  expect(JSON.parse(paste(first.mail))).toMatchObject({ user: { email: 'me@example.test' } });
});
