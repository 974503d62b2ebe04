/**
 * Mail in and out, 1 KB and 1 MB a message, against a floor that only stores the raw bytes in both locations. "In" is the
 * 202 of `/v1/inbound`, by when the message is durable; "out" that of `POST /v1/messages`. Afterwards the time until every
 * one of them was delivered is told, since acceptance alone could be bought with a growing queue.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSmtpSink } from '../dev/smtp-sink.ts';
import { compare, type Load } from './load.ts';
import { BENCH_ROOT_TOKEN, startPair } from './servers.ts';

const USERS = 8;
const SIZES = { '1 KB': 1024, '1 MB': 1024 * 1024 };

export async function runTransport(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-sink-'));
  const sink = await startSmtpSink({ host: '127.0.0.1', port: 0, directory });
  const transport = `smtp://127.0.0.1:${sink.port}?tls=off`;
  const { ours, floor, stop } = await startPair({
    MAIL_TRANSPORT: transport,
    MAIL_HOLD_SECONDS: '0',
    SEND_LIMIT_PER_HOUR: '1000000',
  });
  try {
    const users: { email: string; token: string }[] = [];
    for (let n = 0; n < USERS; n++) users.push(await register(ours.url, `user${n}`));
    for (const [name, size] of Object.entries(SIZES)) {
      const load = { connections: 8, seconds: 3 };
      const floorLoad: Load = { ...load, url: `${floor.url}/store`, method: 'POST', body: 'x'.repeat(size) };
      const recipients = users.map((user) => user.email);
      await compare({
        name: `mail in, ${name}`,
        floor: floorLoad,
        ours: { ...load, url: `${ours.url}/v1/inbound`, script: toInboundScript(recipients, size) },
        rounds: 5,
      });
      await drain(ours.url, 'in');
      await compare({
        name: `mail out, ${name}`,
        floor: floorLoad,
        ours: { ...load, url: `${ours.url}/v1/messages`, script: toSubmitScript(users, size) },
        rounds: 5,
      });
      await drain(ours.url, 'out');
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

const textOf = (size: number): string => `${'x'.repeat(74)}\r\n`.repeat(Math.max(1, Math.floor(size / 76)));

/** No Date and no Message-ID, so that no message is taken for a repetition of another. */
const toInboundScript = (recipients: readonly string[], size: number): string => `
local to = {${recipients.map((email) => `'${email}'`).join(',')}}
local n = 0
local body = 'From: a@far.test\\r\\nSubject: bench\\r\\n\\r\\n' .. string.rep(string.rep('x', 74) .. '\\r\\n', ${Math.floor(size / 76)})
request = function()
  n = n + 1
  return wrk.format('POST', '/v1/inbound', { ['authorization'] = 'Bearer ${BENCH_ROOT_TOKEN}',
    ['x-envelope-from'] = 'a@far.test', ['x-envelope-to'] = to[n % #to + 1], ['x-client-ip'] = '127.0.0.1' }, body)
end`;

const toSubmitScript = (users: readonly { token: string }[], size: number): string => `
local tokens = {${users.map((user) => `'${user.token}'`).join(',')}}
local n = 0
local body = ${JSON.stringify(JSON.stringify({ to: [{ email: 'b@outside.test' }], subject: 'bench', body: textOf(size) }))}
request = function()
  n = n + 1
  return wrk.format('POST', '/v1/messages', { ['authorization'] = 'Bearer ' .. tokens[n % #tokens + 1],
    ['content-type'] = 'application/json' }, body)
end`;

/** Waits until nothing is under way. */
async function drain(url: string, direction: 'in' | 'out'): Promise<void> {
  const startedAt = Date.now();
  const read = async (path: string) =>
    (await (await fetch(url + path, { headers: { authorization: `Bearer ${BENCH_ROOT_TOKEN}` } })).json()) as {
      pending?: number;
      size?: number;
    };
  // The totals are a second behind.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  for (;;) {
    const [inbound, outbound] = [await read('/v1/inbound'), await read('/v1/outbound')];
    if (inbound.pending === 0 && outbound.size === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  console.log(
    `  ${direction}: everything delivered ${((Date.now() - startedAt) / 1000).toFixed(1)} s after the last round`,
  );
}
