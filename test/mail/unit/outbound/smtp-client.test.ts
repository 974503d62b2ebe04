import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { SMTPServer } from 'smtp-server';
import { afterEach, expect, test } from 'vitest';
import { createDotStuffer } from '../../../../workers/mail/smtp/dot-stuffing.ts';
import {
  closeSmtpConnection,
  describeFailure,
  openSmtpConnection,
  type SmtpServer,
} from '../../../../workers/mail/smtp/smtp-connection.ts';
import { createReplyReader, formatReply, parseEnhancedStatus } from '../../../../workers/mail/smtp/smtp-reply.ts';
import { sendMessage, toConnectOutcome } from '../../../../workers/mail/smtp/smtp-transaction.ts';
import type { SmtpTimeouts } from '../../../../workers/mail/smtp/smtp-wire.ts';
import { dialOverNode } from '../../../support/mail/node-smtp-socket.ts';
import {
  type Script,
  type ScriptedSmtp,
  type ScriptStage,
  startScriptedSmtp,
} from '../../../support/mail/scripted-smtp.ts';

const STAGES = ['connect', 'ehlo', 'starttls', 'auth', 'mail', 'rcpt', 'data', 'body', 'final_dot', 'rset', 'quit'];
const withTimeout = (ms: number) => ({
  dial: dialOverNode,
  timeouts: Object.fromEntries(STAGES.map((stage) => [stage, ms])) as SmtpTimeouts,
  ehloName: 'mail.example.test',
});
const options = withTimeout(30_000);
const RAW = 'Subject: hi\r\n\r\n.dot at the start\r\n..two\r\nend\r\n';
const ENVELOPE = { from: 'a@example.test', to: ['one@far.test', 'two@far.test', 'three@far.test'], isEightBit: false };

const TLS_KEY = (() => {
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(mkdtempSync(join(tmpdir(), 'tessera-tls-')), name));
  const to = ['-keyout', key ?? '', '-out', cert ?? ''];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', ...to], {
    stdio: 'ignore',
  });
  return { key: readFileSync(key ?? ''), cert: readFileSync(cert ?? '') };
})();

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function start(script?: Script, extensions?: string[]): Promise<ScriptedSmtp> {
  const server = await startScriptedSmtp({ ...(script ? { script } : {}), ...(extensions ? { extensions } : {}) });
  running.push(server);
  return server;
}

const toServer = (port: number, more: Partial<SmtpServer> = {}): SmtpServer => ({
  hostname: '127.0.0.1',
  port,
  tls: 'off',
  auth: null,
  ...more,
});

const bodyOf = (raw: string) => async () => new Blob([raw]).stream() as ReadableStream<Uint8Array>;

async function sendOnce(server: SmtpServer, raw = RAW, given = options) {
  const opened = await openSmtpConnection(server, given);
  if (!opened.ok) return { outcomes: ENVELOPE.to.map(() => toConnectOutcome(opened.error)), isReusable: false };
  const result = await sendMessage(opened.value, { ...ENVELOPE, sizeBytes: raw.length }, bodyOf(raw));
  await closeSmtpConnection(opened.value);
  return result;
}

test.each([
  ['with PIPELINING', undefined],
  ['without PIPELINING', ['SIZE 1000000']],
])('a message arrives byte for byte for every recipient %s', async (_, extensions) => {
  const server = await start(undefined, extensions);
  const { outcomes } = await sendOnce(toServer(server.port));
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(['sent', 'sent', 'sent']);
  expect(server.taken).toHaveLength(1);
  expect(server.taken[0]?.raw.toString()).toBe(RAW);
  expect(server.taken[0]?.to).toEqual(ENVELOPE.to);
  expect(server.said[1]).toBe(`MAIL FROM:<a@example.test> SIZE=${RAW.length}`);
});

test.each([
  ['with PIPELINING', undefined],
  ['without PIPELINING', []],
])('replies 250, 450 and 550 give three different outcomes %s', async (_, extensions) => {
  const replies: Record<string, string> = {
    'two@far.test': '450-4.2.1 busy\r\n450 4.2.1 come back',
    'three@far.test': '550 5.1.1 no such user',
  };
  const server = await start((stage, path) => (stage === 'rcpt' ? (replies[path] ?? null) : null), extensions);
  const { outcomes } = await sendOnce(toServer(server.port));
  expect(outcomes).toEqual([
    { kind: 'sent', code: 250, reply: '250 2.0.0 taken' },
    { kind: 'deferred', code: 450, reply: '450 4.2.1 busy 4.2.1 come back' },
    { kind: 'refused', code: 550, reply: '550 5.1.1 no such user' },
  ]);
  expect(server.taken[0]?.to).toEqual(['one@far.test']);
});

const STAGED: ScriptStage[] = ['connect', 'ehlo', 'mail', 'rcpt', 'data', 'body', 'final_dot'];
for (const pipelining of [true, false]) {
  for (const stage of STAGED) {
    for (const answer of ['drop', 'hang', '421 4.3.2 going down', '451 4.3.0 later', '550 5.7.1 never'] as const) {
      if (stage === 'body' && answer !== 'drop') continue;
      const name = `${answer} at ${stage} ${pipelining ? 'with' : 'without'} PIPELINING`;
      test(`${name} gives each recipient the right outcome and never claims success`, async () => {
        const server = await start((at) => (at === stage ? answer : null), pipelining ? undefined : []);
        // Send a large body: while sending it, the client notices a lost connection only as long as it has bytes left.
        const raw = stage === 'body' ? RAW + 'x'.repeat(70).concat('\r\n').repeat(300_000) : RAW;
        const { outcomes } = await sendOnce(toServer(server.port), raw, answer === 'hang' ? withTimeout(400) : options);
        const isLost = answer === 'drop' || answer === 'hang';
        const isPermanent = answer.startsWith('550') && stage !== 'connect' && stage !== 'ehlo';
        const wanted = isLost && stage === 'final_dot' ? 'unknown' : isPermanent ? 'refused' : 'deferred';
        expect(outcomes.map((outcome) => outcome.kind)).toEqual([wanted, wanted, wanted]);
        if (stage !== 'final_dot') expect(server.taken).toEqual([]);
      });
    }
  }
}

test('one connection carries many messages, also after a refused one', async () => {
  let refuse = true;
  const server = await start((stage) => (stage === 'rcpt' && refuse ? '550 no' : null));
  const opened = await openSmtpConnection(toServer(server.port), options);
  if (!opened.ok) throw new Error(describeFailure(opened.error));
  const send = () => sendMessage(opened.value, { ...ENVELOPE, sizeBytes: RAW.length }, bodyOf(RAW));
  expect(await send()).toMatchObject({ isReusable: true });
  refuse = false;
  expect((await send()).outcomes[0]?.kind).toBe('sent');
  expect((await send()).outcomes[0]?.kind).toBe('sent');
  await closeSmtpConnection(opened.value);
  expect(server.connections).toBe(1);
  expect(server.taken).toHaveLength(2);
});

test('a message over the announced SIZE is refused without sending it', async () => {
  const server = await start(undefined, ['SIZE 10']);
  const { outcomes } = await sendOnce(toServer(server.port));
  expect(outcomes[0]).toMatchObject({ kind: 'refused', code: 552 });
  expect(server.said).not.toContain('DATA');
});

test('a body that breaks off on our side never ends with the final dot', async () => {
  const server = await start();
  const opened = await openSmtpConnection(toServer(server.port), options);
  if (!opened.ok) throw new Error('no connection');
  const broken = async () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(Buffer.from('Subject: half\r\n'));
        controller.error(new Error('R2 is unreachable'));
      },
    });
  const result = await sendMessage(opened.value, { ...ENVELOPE, sizeBytes: 99 }, broken);
  expect(result.outcomes[0]).toMatchObject({ kind: 'deferred', reply: expect.stringContaining('R2 is unreachable') });
  expect(server.taken).toEqual([]);
});

test('a port without a listener is a deferral', async () => {
  const server = await start();
  await server.stop();
  const { outcomes } = await sendOnce(toServer(server.port));
  expect(outcomes[0]?.kind).toBe('deferred');
});

for (const [tls, secure] of [
  ['required', false],
  ['opportunistic', false],
  ['implicit', true],
] as const) {
  for (const authMethods of [['PLAIN'], ['LOGIN']]) {
    test(`${tls} TLS and AUTH ${authMethods} work with a real server`, async () => {
      const taken: { secure: boolean; user: unknown; raw: string }[] = [];
      const server = new SMTPServer({
        secure,
        authMethods,
        logger: false,
        onAuth: (auth, _session, done) =>
          auth.username === 'us' && auth.password === 'pass word' ? done(null, { user: 'us' }) : done(new Error('no')),
        onData(stream, session, done) {
          let raw = '';
          stream.on('data', (chunk: Buffer) => {
            raw += chunk.toString();
          });
          stream.on('end', () => {
            taken.push({ secure: session.secure, user: session.user, raw });
            done();
          });
        },
      });
      server.on('error', () => {});
      const port = await new Promise<number>((resolve) => {
        const listening = server.listen(0, '127.0.0.1', () => resolve((listening.address() as { port: number }).port));
      });
      running.push({ stop: () => new Promise((resolve) => server.close(resolve)) });
      const auth = { user: 'us', password: 'pass word' };
      const { outcomes } = await sendOnce(toServer(port, { tls, auth }));
      expect(outcomes[0]?.kind).toBe('sent');
      expect(taken).toEqual([{ secure: true, user: 'us', raw: RAW }]);
      const wrong = await sendOnce(toServer(port, { tls, auth: { ...auth, password: 'wrong' } }));
      expect(wrong.outcomes[0]).toMatchObject({ kind: 'deferred', code: 535 });
      expect(taken).toHaveLength(1);
    });
  }
}

test('required TLS that is not offered is a deferral, and nothing is sent in clear', async () => {
  const server = await start();
  const { outcomes } = await sendOnce(toServer(server.port, { tls: 'required' }));
  expect(outcomes[0]).toMatchObject({ kind: 'deferred', reply: expect.stringContaining('STARTTLS') });
  expect(server.said).toEqual(['EHLO mail.example.test']);
});

test.each(['off', 'opportunistic'] as const)('a password is never sent in clear (%s)', async (tls) => {
  const server = await start(undefined, ['AUTH PLAIN LOGIN']);
  const { outcomes } = await sendOnce(toServer(server.port, { tls, auth: { user: 'us', password: 'secret' } }));
  expect(outcomes[0]).toMatchObject({ kind: 'deferred', reply: expect.stringContaining('TLS') });
  expect(server.said).toEqual(['EHLO mail.example.test']);
});

test('STARTTLS that is offered and then refused is a deferral, and nothing more is sent in clear', async () => {
  const server = await start(undefined, ['STARTTLS']);
  const { outcomes } = await sendOnce(toServer(server.port, { tls: 'opportunistic' }));
  expect(outcomes[0]?.kind).toBe('deferred');
  expect(server.said).toEqual(['EHLO mail.example.test', 'STARTTLS']);
});

test('clear text injected after the reply to STARTTLS is ignored inside TLS', async () => {
  const injected = '250-evil\r\n250 SIZE 1\r\n';
  let received = '';
  const server = createTcpServer((plain) => {
    plain.on('error', () => {});
    plain.write('220 hello\r\n');
    plain.on('data', function take(line) {
      if (line.toString().startsWith('EHLO')) plain.write('250-me\r\n250 STARTTLS\r\n');
      else {
        plain.off('data', take);
        plain.write(`220 go\r\n${injected}`);
        const secure = new TLSSocket(plain, { isServer: true, ...TLS_KEY });
        secure.on('error', () => {});
        secure.on('data', (said) => {
          received += said.toString();
          secure.write(received.endsWith('MAIL FROM:<a@example.test>\r\n') ? '451 enough\r\n' : '250 me\r\n');
        });
      }
    });
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  running.push({ stop: () => new Promise((resolve) => server.close(() => resolve())) });
  const { outcomes } = await sendOnce(toServer(port, { tls: 'required' }));
  // The client must ignore the SIZE limit that was injected before TLS. With it, the message would be too large and MAIL would not
  // be sent.
  expect(outcomes[0]).toMatchObject({ kind: 'deferred', code: 451 });
  expect(received).toContain('EHLO mail.example.test\r\nMAIL FROM:<a@example.test>\r\n');
});

test('a 421 to MAIL is retried over a new connection', async () => {
  const server = await start((stage) => (stage === 'mail' ? '421 4.7.0 too many messages' : null));
  const opened = await openSmtpConnection(toServer(server.port), options);
  if (!opened.ok) throw new Error('no connection');
  const result = await sendMessage(opened.value, { ...ENVELOPE, sizeBytes: RAW.length }, bodyOf(RAW));
  expect(result).toMatchObject({
    isStale: true,
    isReusable: false,
    outcomes: [{ kind: 'deferred', code: 421 }, {}, {}],
  });
});

test('a relay that demands TLS or a password (530) is a deferral, because the message is not at fault', async () => {
  const server = await start((stage) => (stage === 'mail' ? '530 5.7.0 Must issue a STARTTLS command first' : null));
  expect((await sendOnce(toServer(server.port))).outcomes[0]).toMatchObject({ kind: 'deferred', code: 530 });
});

test('a "250" before the end of the message does not count as acceptance', async () => {
  const server = await start((stage) => (stage === 'data' ? '354 go on\r\n250 2.0.0 taken, in advance' : null));
  expect((await sendOnce(toServer(server.port))).outcomes[0]).toMatchObject({ kind: 'deferred', code: null });
  expect(server.taken).toEqual([]);
});

test('replies are parsed from chunks of any size', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          code: fc.integer({ min: 200, max: 599 }),
          lines: fc.array(fc.stringMatching(/^[ -~]{0,40}$/), { minLength: 1, maxLength: 4 }),
        }),
        { maxLength: 5 },
      ),
      fc.integer({ min: 1, max: 9 }),
      (replies, size) => {
        const wire = Buffer.from(
          replies
            .flatMap(({ code, lines }) =>
              lines.map((line, n) => `${code}${n === lines.length - 1 ? ' ' : '-'}${line}\r\n`),
            )
            .join(''),
        );
        const reader = createReplyReader();
        const read = [];
        for (let at = 0; at < wire.length; at += size) {
          const pushed = reader.push(wire.subarray(at, at + size));
          if ('kind' in pushed) throw new Error(pushed.line);
          read.push(...pushed);
        }
        expect(read).toEqual(replies);
      },
    ),
  );
});

test('an invalid reply is an error and not an endless wait', () => {
  expect(createReplyReader().push(Buffer.from('HTTP/1.1 400 Bad Request\r\n'))).toMatchObject({ kind: 'garbled' });
  expect(createReplyReader().push(Buffer.from('250-a\r\n550 b\r\n'))).toMatchObject({ kind: 'garbled' });
  expect(createReplyReader().push(Buffer.alloc(5000, 'x'))).toMatchObject({ kind: 'garbled' });
  expect(createReplyReader().push(Buffer.from('250-endless\r\n'.repeat(1000)))).toMatchObject({ kind: 'garbled' });
  for (const odd of ['', '99 x', '600 x', '2500 x', '250\tx', ' 250 x', '250\0 x'])
    expect([odd, createReplyReader().push(Buffer.from(`${odd}\r\n`))]).toMatchObject([odd, { kind: 'garbled' }]);
  expect(createReplyReader().push(Buffer.from('550 5.1.1 pas trouv\xe9 \x1b[2J\r\n', 'latin1'))).toMatchObject([
    { code: 550 },
  ]);
});

test('an enhanced status is found only at the start of a reply', () => {
  expect(parseEnhancedStatus('550 5.1.1 no such user')).toBe('5.1.1');
  expect(parseEnhancedStatus('550 no such user 5.1.1')).toBeNull();
  expect(formatReply({ code: 250, lines: ['a\u0007b', 'c'] })).toBe('250 a b c');
});

test('dot-stuffed messages parse back with CRLF line ends, for any chunks', () => {
  const message = fc
    .array(fc.constantFrom('.', '\r', '\n', '\r\n', 'a', 'bc'), { maxLength: 40 })
    .map((p) => p.join(''));
  fc.assert(
    fc.property(message, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 40 }), (text, sizes) => {
      const stuffer = createDotStuffer();
      const sent: Uint8Array[] = [];
      const bytes = Buffer.from(text);
      for (let at = 0, n = 0; at < bytes.length; n += 1) {
        const size = sizes[n % sizes.length] ?? 1;
        sent.push(stuffer.push(bytes.subarray(at, at + size)));
        at += size;
      }
      const wire = Buffer.concat([...sent, stuffer.end()]).toString();
      const lines = wire.split('\r\n');
      expect(wire.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
      expect(lines.indexOf('.')).toBe(lines.length - 2);
      const read = lines.slice(0, -2).map((line: string) => (line.startsWith('.') ? line.slice(1) : line));
      const normal = text.replaceAll(/\r\n|\r|\n/g, '\n');
      expect(read.join('\n')).toBe(normal.endsWith('\n') ? normal.slice(0, -1) : normal);
    }),
    { numRuns: 500 },
  );
});
