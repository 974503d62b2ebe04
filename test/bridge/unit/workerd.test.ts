/** The same session inside workerd, behind the `connect()` of a Worker. */
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADDRESS, TOKEN } from '../../support/bridge/memory-account.ts';

let miniflare: Miniflare;
beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, '../../support/bridge/connect-worker.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    // Nothing of Node is resolved: a module of it would fail the build.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['import'],
  });
  const options = {
    workers: [
      {
        name: 'bridge',
        modules: true,
        script: outputFiles[0]?.text ?? '',
        compatibilityDate: '2026-10-23',
        compatibilityFlags: ['nodejs_compat'],
        connectHandlers: [{ protocol: 'tcp', port: 0, address: '127.0.0.1' }],
      },
    ],
  };
  miniflare = new Miniflare(
    convertV4MiniflareOptions(options as unknown as Parameters<typeof convertV4MiniflareOptions>[0]),
  );
  await miniflare.ready;
});
afterAll(async () => {
  await miniflare?.dispose();
});

it('logs in, selects, fetches, stores, appends, idles and logs out', async () => {
  const { dispatchConnect } = miniflare as unknown as { dispatchConnect: () => Promise<Socket> };
  const socket = await dispatchConnect.call(miniflare);
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  const until = (pattern: RegExp) => expect.poll(() => received, { timeout: 30_000 }).toMatch(pattern);
  await until(/^\* OK /);
  socket.write(
    `a LOGIN ${ADDRESS} ${TOKEN}\r\nb SELECT INBOX\r\nc FETCH 1 (ENVELOPE BODY[TEXT])\r\nd STORE 1 +FLAGS (x)\r\n`,
  );
  await until(/^d OK/m);
  expect(received).toContain('"inside workerd"');
  expect(received).toContain('BODY[TEXT] {7}\r\nHello\r\n');
  expect(received).toContain('FLAGS (\\Seen x)');
  socket.write('e APPEND INBOX {17}\r\n');
  await until(/^\+ Ready/m);
  socket.write('Subject: y\r\n\r\nabc\r\nf IDLE\r\n');
  await until(/idling/);
  expect(received).toContain('e OK [APPENDUID');
  expect(received).toContain('* 2 EXISTS');
  const ended = new Promise((resolve) => socket.once('end', resolve));
  socket.write('DONE\r\ng LOGOUT\r\n');
  await ended;
  expect(received).toMatch(/\* BYE[\s\S]*g OK/);
});
