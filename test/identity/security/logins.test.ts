/**
 * Findings 2 and 21 of the security review: logins, registrations and confirmations are limited per client, and password hashing is
 * bounded.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildAll } from '../../../dev/local/build.ts';
import { type LocalServer, startLocalServer } from '../../../dev/local/local-server.ts';

/** The limit RATE_LIMIT_AUTH of wrangler.toml, per client and minute. */
const LIMIT = 30;
const PASSWORD = 'correct horse battery';
const directory = mkdtempSync(join(tmpdir(), 'tessera-logins-'));
let server: LocalServer;
let nextClient = 1;

beforeAll(async () => {
  buildAll();
  server = await startLocalServer({
    host: '127.0.0.1',
    port: 0,
    stateDirectory: directory,
    vars: {
      ROOT_TOKEN: 'root-of-the-test',
      MASTER_KEY: Buffer.alloc(32, 3).toString('base64'),
      MAIL_DOMAINS: 'example.test',
      REGISTRATION: 'open',
    },
  });
  expect((await register(newClient(), 'issued')).status).toBe(201);
});
afterAll(async () => {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const newClient = () => `198.51.100.${nextClient++}`;
const post = (path: string, body: object, headers: Record<string, string>) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const login = (client: string, email: string, password = PASSWORD, more: Record<string, string> = {}) =>
  post('/v1/auth/login', { email: `${email}@example.test`, password }, { 'cf-connecting-ip': client, ...more });
const register = (client: string, name: string) =>
  post(
    '/v1/auth/register',
    { email: `${name}@example.test`, password: PASSWORD, name },
    { 'cf-connecting-ip': client },
  );
const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;

/** Repeats a step until it runs within one clock minute, because the local rate limiter counts per clock minute. */
async function inOneMinute<T>(step: () => Promise<T>): Promise<T> {
  for (;;) {
    const minute = Math.floor(Date.now() / 60_000);
    const result = await step();
    if (Math.floor(Date.now() / 60_000) === minute) return result;
  }
}

/** Uses up the client's attempts by registrations. No password is hashed, because the address is already taken. */
async function exhaust(client: string): Promise<void> {
  const answers = await Promise.all(Array.from({ length: LIMIT + 1 }, () => register(client, 'issued')));
  expect(answers.map(({ status }) => status)).toContain(429);
}

describe('password spraying and registration from one client', () => {
  it('is limited: at least 30 of 90 logins for different addresses are refused, and another client is not limited', async () => {
    const client = newClient();
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, n) => login(client, `sprayed-${n}`, 'Summer2026!')),
    );
    const limited = answers.filter(({ status }) => status === 429);
    // At most 60 requests may succeed: the limit is 30 per clock minute, and the test may run across two minutes.
    expect(limited.length).toBeGreaterThanOrEqual(90 - 2 * LIMIT);
    expect(limited.length).toBeLessThanOrEqual(90 - LIMIT);
    for (const answer of limited) {
      expect([answer.headers.get('retry-after'), await codeOf(answer)]).toEqual(['60', 'too_many_guesses']);
    }
    expect((await login(newClient(), 'sprayed-0')).status).toBe(401);
  });

  it('counts the addresses of one IPv6 /64 as one client, and a mapped IPv4 address as the IPv4 address', async () => {
    const results = await inOneMinute(async () => {
      const net = `2001:db8:0:${nextClient++}`;
      await exhaust(`${net}::1`);
      const ipv4 = newClient();
      await exhaust(`::ffff:${ipv4}`);
      const neighbour = await login(`2001:db8:0:${nextClient++}::1`, 'x');
      return [(await login(`${net}:a:b:c:d`, 'x')).status, (await login(ipv4, 'x')).status, neighbour.status];
    });
    expect(results.slice(0, 2)).toEqual([429, 429]);
    expect(results[2]).toBe(401);
  });

  it('limits registrations together with logins, before anything is written', async () => {
    const [status, name] = await inOneMinute(async () => {
      const client = newClient();
      const name = `limited-${client.replaceAll('.', '-')}`;
      await exhaust(client);
      return [(await register(client, name)).status, name] as const;
    });
    expect(status).toBe(429);
    expect((await register(newClient(), name)).status).toBe(201);
  });

  it('does not block known devices and open sessions when their network is over the limit', async () => {
    const results = await inOneMinute(async () => {
      const client = newClient();
      const name = `office-${client.replaceAll('.', '-')}`;
      const registered = await register(client, name);
      const device = /device=[^;]+/.exec(registered.headers.get('set-cookie') ?? '')?.[0] ?? '';
      const { token } = (await registered.json()) as { token: string };
      await exhaust(client);
      const session = { authorization: `Bearer ${token}`, 'cf-connecting-ip': client };
      const ways = [
        () => login(client, name),
        () => login(client, name, PASSWORD, { cookie: 'device=AAAAAAAAAAAAAAAAAAAAAAAA' }),
        () => login(client, 'another-account', PASSWORD, { cookie: device }),
        () => login(client, name, PASSWORD, { cookie: device }),
        () => post('/v1/me/totp', { password: PASSWORD }, session),
      ];
      const statuses: number[] = [];
      for (const attempt of ways) statuses.push((await attempt()).status);
      // Only a few logins may succeed, although each password is correct: a known device must not bypass the limit.
      const more: number[] = [];
      for (let n = 0; n < 5; n++) more.push((await login(client, name, PASSWORD, { cookie: device })).status);
      return { statuses, more };
    });
    expect(results).toEqual({ statuses: [429, 429, 429, 200, 201], more: [200, 200, 200, 200, 429] });
  });

  it('gets 503 with Retry-After when the queue of hashes is full, and logins succeed afterwards', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => login(newClient(), `burst-${n}`)));
    const busy = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 401).length + busy.length).toBe(40);
    expect(busy.length).toBeGreaterThan(0);
    for (const answer of busy) {
      expect([answer.headers.get('retry-after'), await codeOf(answer)]).toEqual(['3', 'too_many_logins']);
    }
    expect((await login(newClient(), 'after-the-burst')).status).toBe(401);
  });
});

describe('guesses of the first code of a second factor', () => {
  it('are limited per account, across sessions', async () => {
    const client = newClient();
    const registered = (await (await register(client, 'totp')).json()) as { token: string };
    const another = (await (await login(client, 'totp')).json()) as { token: string };
    const by = (token: string) => ({ authorization: `Bearer ${token}`, 'cf-connecting-ip': client });
    expect((await post('/v1/me/totp', { password: PASSWORD }, by(registered.token))).status).toBe(201);
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) {
      const token = n % 2 === 0 ? registered.token : another.token;
      statuses.push((await post('/v1/me/totp/confirm', { totp: '000000' }, by(token))).status);
    }
    expect(statuses).toEqual([...new Array(10).fill(400), 429, 429]);
  });
});
