/** Tests the answers to log-ins past the limit of guesses. Stores the count of guesses, because a hundred hashes take too long. */

import { env as bindings, createExecutionContext } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { toCode } from '../../../workers/identity/secrets/totp.ts';
import worker from '../../../workers/index.ts';
import { newestDatabaseOf } from '../../../workers/shared/stores/directories.ts';

const env = bindings as unknown as Env;
const PASSWORD = 'correct horse battery';
const HOUR_MS = 3_600_000;

async function post(path: string, body: object, from?: string, token?: string) {
  const text = JSON.stringify(body);
  const host = from ?? `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`;
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(text.length),
      'cf-connecting-ip': host,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: text,
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, env, createExecutionContext());
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

/** Stores the count of a hundred guesses at the password of an address, or of a hundred other actions. */
async function exhaustGuesses(subject: string, kind = 'address'): Promise<void> {
  const guardKey = createHash('sha256').update(`${kind}\n${subject}`).digest('hex');
  await newestDatabaseOf(env, subject)
    .prepare('INSERT OR REPLACE INTO login_guard (guard_key, count, ends_at) VALUES (?, 100, ?)')
    .bind(guardKey, Date.now() + HOUR_MS)
    .run();
}

it('unknown addresses get the same answers past the limit of guesses as known ones', async () => {
  const name = `n${crypto.randomUUID()}`;
  const [known, unknown] = [`${name}@example.test`, `not-${name}@example.test`];
  const registered = await post('/v1/auth/register', { email: known, password: PASSWORD, name });
  expect(registered.status).toBe(201);
  const answers: unknown[] = [];
  for (const email of [known, unknown]) {
    await exhaustGuesses(email);
    const { status, body } = await post('/v1/auth/login', { email, password: PASSWORD });
    answers.push([status, body.code, body.detail, body.challenges]);
  }
  expect(answers[0]).toEqual([403, 'challenge_required', expect.any(String), expect.any(Array)]);
  expect(answers[1]).toEqual(answers[0]);
});

it('wrong guesses of strangers lock no operator out, and their codes are counted after the right password', async () => {
  const [login, password, home] = [`op-${crypto.randomUUID()}`, 'a long operator password', '192.0.2.9'];
  const made = await post('/v1/operators', { login, name: 'x', role: 'read', password }, home, env.ROOT_TOKEN);
  expect(made.status).toBe(201);
  const enter = (offset: number, from?: string) => {
    const totp = toCode(made.body.totp.secret, Math.floor(Date.now() / 30_000) + offset);
    return post('/v1/operators/login', { login, password, totp }, from);
  };
  expect((await enter(-1, home)).status).toBe(200);
  await exhaustGuesses(made.body.operator_id, 'operator second factor');
  const refused = await enter(0);
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many_guesses']);
  expect((await enter(0, home)).status).toBe(200);
  await exhaustGuesses(`operator ${login}`);
  const challenged = await enter(1);
  expect([challenged.body.code, challenged.body.challenges]).toEqual(['challenge_required', ['proof_of_work']]);
  expect((await enter(1, home)).status).toBe(200);
});
