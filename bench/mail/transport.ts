/**
 * Measures inbound and outbound mail, 1 KB of text and 1 MB with a file, against a floor that only stores the raw bytes in
 * both locations. "In" is the 202 of `/v1/inbound`, after which the message is durable; "out" is the 202 of
 * `POST /v1/messages`. A growing queue could make acceptance look fast. So after each round, all mail is delivered before
 * the floor's round starts, and the benchmark prints how long that took.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSmtpSink } from '../../dev/local/smtp-sink.ts';
import { compare, type Load, median } from '../shared/load.ts';
import { BENCH_ROOT_TOKEN, startPair } from '../shared/servers.ts';

const USERS = 8;
const SIZES = { '1 KB': { bytes: 1024, connections: 8 }, '1 MB': { bytes: 1024 * 1024, connections: 4 } };
const ROUNDS = 5;
const SECONDS = 3;

export async function runTransport(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-sink-'));
  const sink = await startSmtpSink({ host: '127.0.0.1', port: 0, directory });
  const transport = `smtp://127.0.0.1:${sink.port}?tls=off`;
  const { ours, floor, stop } = await startPair({
    MAIL_TRANSPORT: transport,
    MAIL_HOLD_SECONDS: '0',
    SEND_LIMIT_PER_HOUR: '1000000',
    SEND_LIMIT_FIRST_DAY: '1000000',
    DOMAIN_SEND_LIMIT_PER_HOUR: '10000000',
  });
  try {
    const users: { email: string; token: string }[] = [];
    for (let n = 0; n < USERS; n++) users.push(await register(ours.url, `user${n}`));
    for (const [name, { bytes, connections }] of Object.entries(SIZES)) {
      const load = { connections, seconds: SECONDS };
      const floorLoad: Load = { ...load, url: `${floor.url}/store`, method: 'POST', body: 'x'.repeat(bytes) };
      const recipients = users.map((user) => user.email);
      for (const [direction, path, script] of [
        ['in', '/v1/inbound', toInboundScript(recipients, bytes)],
        ['out', '/v1/messages', toSubmitScript(users, bytes)],
      ] as const) {
        const delivered = createDeliveryMeter(ours.url, direction);
        await delivered.begin();
        await compare({
          name: `mail ${direction}, ${name}`,
          floor: floorLoad,
          ours: { ...load, url: ours.url + path, script },
          rounds: ROUNDS,
          settle: delivered.settle,
        });
        delivered.print();
      }
    }
  } finally {
    await stop();
    await sink.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function register(url: string, name: string): Promise<{ email: string; token: string }> {
  const email = `${name}@example.test`;
  const response = await fetch(`${url}/v1/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: 'correct horse battery', name }),
  });
  const { token } = (await response.json()) as { token: string };
  return { email, token };
}

/** Makes content of about `bytes`: text or, for large messages, text and a file in Base64. */
function toFiller(bytes: number): { readonly text: string; readonly file: string } {
  if (bytes < 64 * 1024) return { text: LINE.repeat(Math.max(1, Math.floor(bytes / LINE.length))), file: '' };
  return { text: LINE, file: randomBytes(Math.floor((bytes / 78) * 57)).toString('base64') };
}
const LINE = 'Shall we have lunch on Thursday, or is the week after that better? \r\n';

/** Messages have no Date and no Message-ID, so that none is recognised as a duplicate of another. */
function toInboundScript(recipients: readonly string[], bytes: number): string {
  const { text, file } = toFiller(bytes);
  const head = 'From: a@far.test\r\nSubject: bench\r\nMIME-Version: 1.0\r\n';
  const raw =
    file === ''
      ? `${head}\r\n${text}`
      : `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${text}--b\r\nContent-Type: image/jpeg\r\nContent-Disposition: attachment; filename=a.jpg\r\nContent-Transfer-Encoding: base64\r\n\r\n${file.replace(/.{76}/g, '$&\r\n')}\r\n--b--\r\n`;
  return `
local to = {${recipients.map((email) => `'${email}'`).join(',')}}
local n = 0
local body = ${JSON.stringify(raw)}
request = function()
  n = n + 1
  return wrk.format('POST', '/v1/inbound', { ['authorization'] = 'Bearer ${BENCH_ROOT_TOKEN}',
    ['x-envelope-from'] = 'a@far.test', ['x-envelope-to'] = to[n % #to + 1], ['x-client-ip'] = '127.0.0.1' }, body)
end`;
}

function toSubmitScript(users: readonly { token: string }[], bytes: number): string {
  const { text, file } = toFiller(bytes);
  const attachments = file === '' ? [] : [{ file_name: 'a.jpg', content_type: 'image/jpeg', content: file }];
  const message = { to: [{ email: 'b@outside.test' }], subject: 'bench', body: text, attachments };
  return `
local tokens = {${users.map((user) => `'${user.token}'`).join(',')}}
local n = 0
local body = ${JSON.stringify(JSON.stringify(message))}
request = function()
  n = n + 1
  return wrk.format('POST', '/v1/messages', { ['authorization'] = 'Bearer ' .. tokens[n % #tokens + 1],
    ['content-type'] = 'application/json' }, body)
end`;
}

/** Waits until no mail is in transit, and records how long that took. */
function createDeliveryMeter(url: string, direction: 'in' | 'out') {
  const read = async () => {
    const get = async (path: string) =>
      (await (await fetch(url + path, { headers: { authorization: `Bearer ${BENCH_ROOT_TOKEN}` } })).json()) as {
        accepted?: number;
        pending?: number;
        size?: number;
      };
    const [inbound, outbound] = [await get('/v1/inbound'), await get('/v1/outbound')];
    return { accepted: inbound.accepted ?? 0, isQuiet: inbound.pending === 0 && outbound.size === 0 };
  };
  const waits: number[] = [];
  const settle = async () => {
    const startedAt = Date.now();
    // The operator's totals lag by a second. Mail counts as delivered if the queues stay empty and the totals do not change for 1.2
    // s.
    let before = -1;
    for (let quietAt = 0; ; ) {
      const { accepted, isQuiet } = await read();
      if (!isQuiet || accepted !== before) quietAt = 0;
      else if (quietAt === 0) quietAt = Date.now();
      else if (Date.now() - quietAt > 1_200) break;
      before = accepted;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    waits.push((Date.now() - startedAt) / 1000);
  };
  return {
    settle,
    begin: settle,
    print() {
      const [, , ...rounds] = waits;
      console.log(
        `  ${direction}: all delivered ${median(rounds).toFixed(1)} s after a round of ${SECONDS} s (including 1.5 s of polling)`,
      );
    },
  };
}
