/**
 * Tests that MASTER_KEY and ROOT_TOKEN can be rotated by the documented procedure, with real secrets, also if it is interrupted.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toCode } from '../../../workers/identity/secrets/totp.ts';
import { awaitSunk, type MailUser, registerUser, until } from '../../support/mail/mail.ts';
import { type ScriptedSmtp, startScriptedSmtp } from '../../support/mail/scripted-smtp.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PASSWORD = 'correct horse battery';
const KEYS = 150;
let server: TestServer;
let relay: ScriptedSmtp;
let user: MailUser;
let seed: string;
let accessKey: Awaited<ReturnType<TestServer['createAccessKey']>>;
let scoreToken: string;
let recoverySteps = 1;

const newKey = () => randomBytes(32).toString('base64');

/** Runs `npm run rotate:master-key`. @returns exit status and output. */
function rotate(token = server.rootToken): {
  done: Promise<{ status: number | null; output: string }>;
  firstLine: Promise<void>;
} {
  const child = spawn(process.execPath, ['dev/deploy/rotate-master-key.ts', server.url], {
    cwd: ROOT,
    env: { ...process.env, ROOT_TOKEN: token },
  });
  let output = '';
  const firstLine = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk;
        resolve();
      });
  });
  const done = new Promise<{ status: number | null; output: string }>((resolve) =>
    child.on('close', (status) => resolve({ status, output })),
  );
  return { done, firstLine };
}

beforeAll(async () => {
  relay = await startScriptedSmtp();
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1' } });
  accessKey = await server.createAccessKey('owner');
  const s3 = createSdkClient(server.url, accessKey);
  await s3.send(new CreateBucketCommand({ Bucket: 'rotation' }));
  await s3.send(new PutObjectCommand({ Bucket: 'rotation', Key: 'a', Body: 'text' }));
  const { userId } = accessKey;
  for (let n = 0; n < KEYS; n += 10)
    await Promise.all(Array.from({ length: 10 }, () => server.call('POST', `/v1/iam/users/${userId}/access-keys`, {})));
  user = await registerUser(server, 'rita');
  const begun = await server.call('POST', '/v1/me/totp', { password: PASSWORD }, user.token);
  seed = begun.body.secret;
  const totp = toCode(seed, Math.floor(Date.now() / 30_000) - 1);
  expect((await server.call('POST', '/v1/me/totp/confirm', { totp }, user.token)).status).toBe(200);
  expect((await server.call('POST', '/v1/domains/example.test/dkim-keys', {})).status).toBe(201);
  const route = {
    domain: 'partner.test',
    is_hosted: false,
    transport: `smtp://me:relay-secret@127.0.0.1:${relay.port}`,
  };
  expect((await server.call('POST', '/v1/domains', route)).status).toBe(201);
  scoreToken = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await relay.stop();
});

/** Uses a secret of each kind, and expects all to work. */
async function expectAllSecretsWork(): Promise<void> {
  const object = await createSdkClient(server.url, accessKey).send(
    new GetObjectCommand({ Bucket: 'rotation', Key: 'a' }),
  );
  expect(await object.Body?.transformToString()).toBe('text');
  // Move the server's clock by one 30-second step per login, because no TOTP code works twice.
  await server.stop();
  const offsetSeconds = 30 * recoverySteps++;
  await server.start({ ...vars, CLOCK_OFFSET_SECONDS: String(offsetSeconds) });
  const totp = toCode(seed, Math.floor((Date.now() + offsetSeconds * 1000) / 30_000));
  const login = await server.call('POST', '/v1/auth/login', { email: user.email, password: PASSWORD, totp }, null);
  expect([login.status, login.body.code]).toEqual([200, undefined]);
  const subject = `after ${recoverySteps}`;
  const to = [{ email: `friend-${recoverySteps}@far.test` }, { email: 'colleague@partner.test' }];
  const sent = await server.call('POST', '/v1/messages', { to, subject, body: 'x' }, user.token);
  expect(sent.status).toBe(202);
  const { raw } = await awaitSunk(server, subject, ({ envelope }) => envelope.to.includes(to[0]?.email ?? ''));
  expect(raw.toString()).toMatch(/^DKIM-Signature:/m);
  // The relay has no TLS. So its password is unsealed, but not sent.
  const reply = await until('the reply of the relay', async () => {
    const { body } = await server.call('GET', `/v1/messages/${sent.body.id}`, undefined, user.token);
    const partner = body.delivery.find(({ email }: { email: string }) => email === 'colleague@partner.test');
    return partner.last_reply ?? undefined;
  });
  expect(reply).toContain('a password is sent only inside TLS');
}

/** Variables of the server in addition to those of the test. */
let vars: Record<string, string> = {};
async function restart(next: Record<string, string>): Promise<void> {
  vars = next;
  await server.stop();
  await server.start(vars);
}

it('rotates MASTER_KEY: nothing stops working, a killed server and a wrong token are survived', async () => {
  const old = parseEnv(readFileSync(join(server.directory, 'dev.vars'), 'utf8')).MASTER_KEY ?? '';
  const next = newKey();
  await restart({ MASTER_KEY: next, MASTER_KEY_PREVIOUS: old });
  await expectAllSecretsWork();

  expect(await rotate('wrong').done).toMatchObject({ status: 1, output: expect.stringContaining('answered 401') });
  // Kill the server in the middle of the first call, as a power failure would.
  const interrupted = rotate();
  await Promise.race([interrupted.firstLine, new Promise((resolve) => setTimeout(resolve, 300))]);
  await server.kill9();
  await server.start(vars);
  await interrupted.done;
  // An access key that is created between the calls must be sealed with the new MASTER_KEY.
  await server.call('POST', `/v1/iam/users/${accessKey.userId}/access-keys`, {});

  const finished = await rotate().done;
  expect(finished.output).toContain('Every secret is sealed with MASTER_KEY.');
  expect(finished.status).toBe(0);
  for (const kind of ['access_keys', 'totp_seeds', 'dkim_keys', 'mail_transports'])
    expect(finished.output).toMatch(new RegExp(`^${kind}: 0 sealed now, [1-9]\\d* before, 0 unreadable$`, 'm'));

  await restart({ MASTER_KEY: next });
  await expectAllSecretsWork();
});

it('names the secrets that neither key opens, and exits with status 1', async () => {
  const right = vars;
  await restart({ MASTER_KEY: newKey(), MASTER_KEY_PREVIOUS: newKey() });
  const { status, output } = await rotate().done;
  expect(status).toBe(1);
  expect(output).toContain(`access_keys ${accessKey.accessKeyId}`);
  expect(output).toContain('mail_transports partner.test');
  // Nothing may have changed: with the right key, everything must still work.
  await restart(right);
  await expectAllSecretsWork();
});

it('rotates ROOT_TOKEN: the old one stops, and no other credential does', async () => {
  const old = server.rootToken;
  const next = `root-${randomBytes(16).toString('hex')}`;
  await restart({ ...vars, ROOT_TOKEN: next });
  expect((await server.call('GET', '/v1/iam/users', undefined, old)).status).toBe(401);
  expect((await server.call('GET', '/v1/iam/users', undefined, next)).status).toBe(200);
  expect((await server.call('POST', '/v1/scores', { user_id: 'p', points: 1 }, scoreToken)).status).toBe(200);
  await expectAllSecretsWork();
});
