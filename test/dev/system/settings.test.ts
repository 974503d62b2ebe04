import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../../../dev/local/local-server.ts';
import { freePort, freePorts } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ROOT_TOKEN = 'root-of-the-settings-test';
const MASTER_KEY = Buffer.alloc(32, 5).toString('base64');
const scratch = mkdtempSync(join(tmpdir(), 'tessera-settings-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Runs the script of `npm start` until it exits or serves. @returns its exit status, or null if it serves. */
async function npmStart(variables: Record<string, string>) {
  const ports = await freePorts();
  const child = spawn(process.execPath, ['dev/local/start.ts'], {
    cwd: ROOT,
    env: {
      ...process.env,
      ...ports,
      STATE_DIR: join(scratch, 'start'),
      DEV_VARS: join(scratch, 'dev.vars'),
      ...variables,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const status = await new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.stdout.on('data', () => output.includes('Ctrl-C ends it') && resolve(null));
  });
  child.kill();
  return { status, output, port: Number(ports.PORT) };
}

describe('npm start', () => {
  it('exits before it serves if a setting is invalid, and names the setting and the allowed values', async () => {
    const { status, output, port } = await npmStart({
      VAR_SEND_LIMIT_PER_HOUR: '1k-a-secret-value',
      VAR_MAIL_HOLD_SECOND: '60',
    });
    expect([status, output]).toEqual([1, expect.any(String)]);
    expect(output).toContain('SEND_LIMIT_PER_HOUR must be a whole number of recipients from 0 to 10,000,000.');
    expect(output).toContain('MAIL_HOLD_SECOND is not a setting. The closest name is MAIL_HOLD_SECONDS.');
    expect(output).not.toContain('a-secret-value');
    expect(existsSync(join(scratch, 'start'))).toBe(false);
    const isFree = await new Promise((resolve) => {
      const probe = createServer().once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    expect(isFree).toBe(true);
  });

  it('rejects a password in MAIL_TRANSPORT, and says where to set it', async () => {
    const { status, output } = await npmStart({ VAR_MAIL_TRANSPORT: 'smtp://me:hunter2@relay.example:587' });
    expect(status).toBe(1);
    expect(output).toContain('MAIL_TRANSPORT_USER and MAIL_TRANSPORT_PASSWORD');
    expect(output).not.toContain('hunter2');
  });

  it('names an invalid port', async () => {
    const { status, output } = await npmStart({ SMTP_PORT: 'smtp' });
    expect([status, output]).toEqual([2, expect.stringContaining('SMTP_PORT must be a whole number of TCP port')]);
  });
});

describe('a Worker with invalid settings', () => {
  let server: LocalServer | undefined;
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  /** Starts the server without the checks of `npm start`, as if a setting were changed in Cloudflare's dashboard. */
  async function start(vars: Record<string, string>) {
    const started = await startLocalServer({
      host: '127.0.0.1',
      port: await freePort(),
      stateDirectory: join(scratch, 'worker'),
      vars: { ROOT_TOKEN, MASTER_KEY, MAIL_DOMAINS: 'example.test', ...vars },
    });
    server = started;
    const call = async (method: string, path: string, body?: unknown, token = ROOT_TOKEN) => {
      const response = await fetch(started.url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.includes('json');
      return { status: response.status, body: isJson ? JSON.parse(text) : text };
    };
    return { url: started.url, call };
  }

  async function makeStorageUser(call: Awaited<ReturnType<typeof start>>['call']) {
    const { body: user } = await call('POST', '/v1/iam/users', { name: crypto.randomUUID() });
    const { body: key } = await call('POST', `/v1/iam/users/${user.user_id}/access-keys`, {});
    return { accessKeyId: key.access_key_id, secretAccessKey: key.secret_access_key };
  }

  it('answers 503 to requests that need the setting, serves all others, and names it in health without its value', async () => {
    const { url, call } = await start({
      LEADERBOARD_SHARDS: 'a-value-not-to-show',
      MAIL_HOLD_SECOND: '60',
      SEND_LIMIT_PER_HOUR: '1k',
    });
    const health = await call('GET', '/v1/health');
    expect([health.status, health.body]).toEqual([
      503,
      {
        status: 'misconfigured',
        version: expect.any(String),
        commit: expect.any(String),
        version_id: 'local',
        unavailable: [],
        warnings: [],
        misconfigured: [
          { name: 'LEADERBOARD_SHARDS', message: 'must be a whole number of shards from 1 to 256' },
          { name: 'SEND_LIMIT_PER_HOUR', message: 'must be a whole number of recipients from 0 to 10,000,000' },
          { name: 'MAIL_HOLD_SECOND', message: 'is not a setting. The closest name is MAIL_HOLD_SECONDS' },
        ],
      },
    ]);
    const misconfigured = { status: 503, code: 'misconfigured', detail: expect.stringContaining('LEADERBOARD_SHARDS') };
    const { body: game } = await call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    const update = { user_id: 'ann', points: 5 };
    expect((await call('POST', '/v1/scores', update, game.token)).body).toMatchObject(misconfigured);
    expect((await call('GET', '/v1/scores')).body).toMatchObject(misconfigured);
    // Storage and identity do not need the misconfigured settings, so they must work.
    const s3 = createSdkClient(url, await makeStorageUser(call));
    await s3.send(new CreateBucketCommand({ Bucket: 'kept' }));
    expect((await call('GET', '/v1/iam/users')).status).toBe(200);
    expect((await call('GET', '/_/')).status).toBe(200);
  });

  it('answers S3 requests with 503 in XML if a storage setting is invalid', async () => {
    const { url, call } = await start({ SCRUB_DAYS: 'thirty' });
    const response = await fetch(`${url}/some-bucket/key`);
    expect([response.status, await response.text()]).toEqual([
      503,
      expect.stringMatching(/<Code>ServiceUnavailable<\/Code><Message>Misconfigured: SCRUB_DAYS must be/),
    ]);
    expect((await call('GET', '/v1/scores')).status).toBe(200);
  });

  it('answers only health requests if the hosts of the products are ambiguous', async () => {
    const { call } = await start({ APP_HOST: 'https://app.example' });
    expect((await call('GET', '/v1/health')).body).toMatchObject({ misconfigured: [{ name: 'APP_HOST' }] });
    for (const path of ['/_/', '/bucket/key', '/v1/scores', '/v1/me']) {
      expect((await call('GET', path)).body, path).toMatchObject({ status: 503, code: 'misconfigured' });
    }
  });
});
