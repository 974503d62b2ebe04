/**
 * Runs the commands of the documents against a running server: every `sh` block of a page, in order, in one shell, and the programs
 * between them in JavaScript and Python. Blocks that cannot run here, such as a deployment, are marked `sh no-test`. The shell stops
 * at the first command that fails.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CodeBlock, DOCUMENTS, ROOT, readDocument } from '../../support/markdown.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

/** Timeout per page. A page runs up to twenty clients, one after the other. */
const PAGE_TIMEOUT_MS = 300_000;

/** The clients that the documents may use. */
const CLIENTS = ['aws', 'curl', 'python3', 'rclone', 's3cmd'];

/** Commands that run a block, by its language. */
const RUNS: Readonly<Record<string, (code: string) => string>> = {
  sh: (code) => code,
  js: (code) => `node --input-type=module <<'END_OF_BLOCK'\n${code}\nEND_OF_BLOCK`,
  python: (code) => `python3 - <<'END_OF_BLOCK'\n${code}\nEND_OF_BLOCK`,
};

const pages = DOCUMENTS.map((name) => ({
  name,
  blocks: readDocument(name).blocks.filter(({ info }) => info in RUNS),
})).filter(({ blocks }) => blocks.some(({ info }) => info === 'sh'));

/** The pages of a first hour, whose blocks a reader runs again. That of storage runs fifteen slow clients, so it runs once. */
const REPEATED = ['README.md', 'docs/leaderboard.md', 'docs/mail.md'];

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
});

/** Converts commands: replaces the default ports and files of `npm start` by those of this server. */
function toScript(name: string, blocks: readonly CodeBlock[]): string {
  const commands = blocks.map(({ info, code, line }) => `block=${name}:${line}\n${RUNS[info]?.(code)}\n`).join('\n');
  const { host } = new URL(server.url);
  return `set -eEuo pipefail\ntrap 'echo "A command of the block at $block failed: $BASH_COMMAND" >&2' ERR\n${commands}`
    .replaceAll('localhost:8787', host)
    .replaceAll('127.0.0.1:2525', `127.0.0.1:${server.smtpPort}`)
    .replaceAll('.wrangler/state/sink', join(server.directory, 'sink'))
    .replaceAll('.dev.vars', join(server.directory, 'dev.vars'));
}

function runScript(script: string): Promise<{ status: number | null; output: string }> {
  const { AWS_CA_BUNDLE: _, ...environment } = process.env;
  return new Promise((resolve, reject) => {
    const shell = spawn('bash', ['-c', script], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Set HOME, because the user's own configuration files would change the behaviour of the clients.
      env: { ...environment, HOME: server.directory, AWS_PAGER: '', AWS_EC2_METADATA_DISABLED: 'true' },
    });
    let output = '';
    shell.stdout.on('data', (chunk: Buffer) => (output += chunk));
    shell.stderr.on('data', (chunk: Buffer) => (output += chunk));
    shell.on('error', reject);
    shell.on('close', (status) => resolve({ status, output }));
  });
}

test('a command that fails fails the script, and names its block', async () => {
  const script = toScript('page', [
    { info: 'sh', line: 7, code: 'curl -sS --fail-with-body localhost:8787/v1/no-such-path\necho unreachable' },
  ]);
  const { status, output } = await runScript(script);
  expect(status).not.toBe(0);
  expect(output).toContain('page:7');
  expect(output).not.toContain('unreachable');
});

test('a shell block runs, or is marked as one that cannot', () => {
  const infos = DOCUMENTS.flatMap((name) => readDocument(name).blocks.map(({ info }) => info));
  const shells = infos.filter((info) => /^(sh|bash|shell|console)\b/.test(info) || info === '');
  expect(shells.filter((info) => info !== 'sh' && info !== 'sh no-test')).toEqual([]);
  expect(pages.map(({ name }) => name)).toContain('README.md');
});

test.skipIf(!hasClient(...CLIENTS)).each(pages)(
  'the commands of $name succeed',
  async ({ name, blocks }) => {
    const again = REPEATED.includes(name) ? blocks : [];
    const { status, output } = await runScript(toScript(name, [...blocks, ...again]));
    expect(status, output).toBe(0);
  },
  PAGE_TIMEOUT_MS,
);
