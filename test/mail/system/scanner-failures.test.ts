/** Tests the checks with a real clamd and a real rspamd, and with scanners that are down, slow or send garbage. */
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CheckDependencies, checkMessage, type MessageToCheck } from '../../../workers/mail/checks/index.ts';
import { checkWithRspamd } from '../../../workers/mail/checks/spam/rspamd.ts';
import { scanWithClamd } from '../../../workers/mail/checks/virus/clamd.ts';
import { EICAR } from '../../../workers/mail/mime/virus-signatures.ts';
import { connectByNode, findFreePort, type Scanner, startClamd, startRspamd } from '../../support/mail/scanners.ts';
import { hasClient } from '../../support/real-client.ts';

const hasClamd = hasClient('clamd');
const hasRspamd = hasClient('rspamd');
const stream = (bytes: Uint8Array) => new Blob([new Uint8Array(bytes)]).stream();

const dependencies: CheckDependencies = {
  resolveDns: async () => ({ ok: false, error: { kind: 'no_such_domain' } }),
  fetch: (url, init) => fetch(url, init),
  connect: connectByNode,
  now: Date.now,
};

function toMessage(subject: string, body: string, attachment?: Uint8Array): MessageToCheck & { raw: Uint8Array } {
  const head = `From: Ada <ada@example.org>\r\nTo: bob@example.test\r\nSubject: ${subject}\r\nDate: Sat, 21 Nov 2026 09:00:00 +0000\r\nMessage-ID: <1@example.org>\r\nMIME-Version: 1.0\r\n`;
  const raw = attachment
    ? `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${body}\r\n--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=a.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(attachment).toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n--b--\r\n`
    : `${head}\r\n${body}\r\n`;
  return {
    raw: Buffer.from(raw),
    envelope: { from: 'ada@example.org', to: ['bob@example.test'] },
    clientIp: '192.0.2.3',
    helo: 'mx.example.org',
    direction: 'inbound',
  };
}

describe.skipIf(!hasClamd)('with a real clamd', () => {
  let clamd: Scanner;
  beforeAll(async () => {
    clamd = await startClamd();
  });
  afterAll(() => clamd?.stop());
  const check = (message: MessageToCheck) =>
    checkMessage(message, { CLAMD_ADDRESS: `127.0.0.1:${clamd.port}` }, dependencies);

  test('a message without a virus is clean, according to clamd', async () => {
    expect(await check(toMessage('Lunch', 'at noon?'))).toMatchObject({
      ok: true,
      value: { virus: { verdict: 'clean', engine: 'clamd', reasons: [] } },
    });
  });

  test('a virus that only clamd detects is found, also in a zip file', async () => {
    const own = Buffer.from('... tessera test signature ...');
    for (const content of [own, zipSync({ 'own.txt': own })]) {
      const checked = await check(toMessage('x', 'see attached', content));
      expect(checked).toMatchObject({
        ok: true,
        value: {
          virus: {
            verdict: 'infected',
            engine: 'clamd',
            reasons: [{ rule: 'CLAMAV', text: expect.stringContaining('Tessera.Own') }],
          },
        },
      });
    }
  });

  test('clamd detects EICAR', async () => {
    const { raw } = toMessage('x', 'see attached', zipSync({ 'inner.zip': zipSync({ 'e.txt': Buffer.from(EICAR) }) }));
    const answer = await scanWithClamd(stream(raw), `127.0.0.1:${clamd.port}`, connectByNode, 10_000);
    expect(answer).toMatchObject({ ok: true, value: { verdict: 'infected' } });
  });

  test('the built-in rules still apply', async () => {
    const program = Buffer.concat([Buffer.from('MZ\x90\0\x03\0\0\0', 'latin1'), Buffer.alloc(200)]);
    expect(await check(toMessage('x', 'x', program))).toMatchObject({
      ok: true,
      value: { virus: { verdict: 'blocked', engine: 'clamd', reasons: [{ rule: 'PROGRAM' }] } },
    });
  });

  test('a message of 25 MB is scanned', async () => {
    const checked = await check(toMessage('x', 'large', Buffer.alloc(25_000_000, 'abcdefgh')));
    expect(checked).toMatchObject({ ok: true, value: { virus: { verdict: 'clean', engine: 'clamd' } } });
  });

  test('a message above the limit of clamd is deferred, not clean', async () => {
    const small = await startClamd(['StreamMaxLength 1M']);
    try {
      const answer = await scanWithClamd(
        stream(Buffer.alloc(5_000_000, 'x')),
        `127.0.0.1:${small.port}`,
        connectByNode,
        10_000,
      );
      expect(answer).toMatchObject({ ok: false, error: { kind: 'deferred' } });
    } finally {
      await small.stop();
    }
  });
});

describe('a message is deferred if clamd gives no clear answer:', () => {
  const fakes: Record<string, (socket: Socket) => void> = {
    'hangs up at once': (socket) => socket.destroy(),
    'hangs up after the message': (socket) => socket.on('data', () => setTimeout(() => socket.end(), 20)),
    'sends nothing': () => undefined,
    'answers garbage': (socket) => socket.on('data', () => socket.end('\x00\xff\x13garbage\0')),
    'reports a failure': (socket) => socket.on('data', () => socket.end('INSTREAM size limit exceeded. ERROR\0')),
    'is cut off in the middle of OK': (socket) => socket.on('data', () => socket.end('stream: OK')),
    'talks without end': (socket) => socket.on('data', () => socket.write('x'.repeat(100_000))),
  };
  for (const [name, behave] of Object.entries(fakes)) {
    test(`it ${name}`, async () => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket.on('error', () => undefined));
        behave(socket);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const { raw } = toMessage('x', 'hello');
      const answer = await scanWithClamd(stream(raw), `127.0.0.1:${port}`, connectByNode, 300);
      expect(answer).toMatchObject({
        ok: false,
        error: { kind: 'deferred', reason: expect.stringMatching(/^clamd: ./) },
      });
      for (const socket of sockets) socket.destroy();
      server.close();
    });
  }

  test('it is not running, or the address is invalid', async () => {
    const { raw } = toMessage('x', 'hello');
    const port = await findFreePort();
    for (const address of [`127.0.0.1:${port}`, 'not an address', '127.0.0.1:99999']) {
      expect(await scanWithClamd(stream(raw), address, connectByNode, 10_000)).toMatchObject({
        ok: false,
        error: { kind: 'deferred' },
      });
    }
    const checked = await checkMessage(toMessage('x', 'hello'), { CLAMD_ADDRESS: `127.0.0.1:${port}` }, dependencies);
    expect(checked).toMatchObject({ ok: false, error: { kind: 'deferred' } });
  });
});

describe.skipIf(!hasRspamd)('with a real rspamd', () => {
  let rspamd: Scanner;
  beforeAll(async () => {
    rspamd = await startRspamd();
  });
  afterAll(() => rspamd?.stop());
  const check = async (message: MessageToCheck) => {
    const checked = await checkMessage(message, { RSPAMD_URL: `http://127.0.0.1:${rspamd.port}` }, dependencies);
    if (!checked.ok) throw new Error(checked.error.reason);
    return checked.value.spam;
  };

  test('ordinary mail is not spam', async () => {
    expect(await check(toMessage('Lunch', 'at noon?'))).toMatchObject({ verdict: 'ham', engine: 'rspamd' });
  });

  test('mail with the action "add header" is junk, with the matching rules as reasons', async () => {
    const spam = await check(toMessage('lottery', 'You won'));
    expect(spam).toMatchObject({
      verdict: 'junk',
      score: 7.6,
      reasons: [{ rule: 'TESSERA_LOTTERY', score: 7.5, text: 'You have won the lottery' }, {}],
    });
  });

  test('GTUBE is rejected', async () => {
    const spam = await check(toMessage('x', 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'));
    expect(spam.verdict).toBe('reject');
  });

  test('it receives the client and the envelope sender', async () => {
    const spam = await check(toMessage('Lunch', 'at noon?'));
    expect(spam.reasons.map((reason) => reason.rule)).toContain('TESSERA_CLIENT');
  });
});

describe('a message is deferred if rspamd gives no clear answer:', () => {
  const json =
    (value: unknown): RequestListener =>
    (_, response) =>
      response.end(JSON.stringify(value));
  const fakes: Record<string, RequestListener> = {
    'answers 500': (_, response) => response.writeHead(500).end('{"score":0,"action":"no action"}'),
    'answers 403': (_, response) => response.writeHead(403).end(),
    'answers no JSON': (_, response) => response.end('<html>'),
    'answers half of its JSON': (_, response) => response.end('{"score":0,"action":"no'),
    'answers another JSON': json([1, 2]),
    'answers null': json(null),
    'answers without an action': json({ score: 0 }),
    'answers an unknown action': json({ score: 0, action: 'dance' }),
    'asks to try later': json({ score: 0, action: 'soft reject' }),
    'hangs up': (request) => request.socket.destroy(),
    'sends nothing': () => undefined,
  };
  for (const [name, listener] of Object.entries(fakes)) {
    test(`it ${name}`, async () => {
      const server = createHttpServer((request, response) => {
        request.on('error', () => undefined).resume();
        listener(request, response);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const message = toMessage('x', 'hello');
      const authentication = (
        await checkMessage(message, {}, dependencies).then((checked) => (checked.ok ? checked.value : null))
      )?.authentication;
      if (!authentication) throw new Error('unreachable');
      const answer = await checkWithRspamd(
        message,
        authentication,
        { RSPAMD_URL: `http://127.0.0.1:${port}/` },
        dependencies.fetch,
        400,
      );
      expect(answer).toMatchObject({
        ok: false,
        error: { kind: 'deferred', reason: expect.stringMatching(/^rspamd: ./) },
      });
      server.closeAllConnections();
      server.close();
    });
  }

  test('it is not running', async () => {
    const checked = await checkMessage(
      toMessage('x', 'hello'),
      { RSPAMD_URL: `http://127.0.0.1:${await findFreePort()}` },
      dependencies,
    );
    expect(checked).toMatchObject({ ok: false, error: { kind: 'deferred' } });
  });
});
