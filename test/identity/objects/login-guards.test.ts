/** Tests the answers to log-ins past the limit of guesses. Stores the count of guesses, because a hundred hashes take too long. */

import { env as bindings, createExecutionContext } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import worker from '../../../workers/index.ts';
import { newestDatabaseOf } from '../../../workers/shared/stores/directories.ts';

const env = bindings as unknown as Env;
const PASSWORD = 'correct horse battery';
const HOUR_MS = 3_600_000;

async function post(path: string, body: object) {
  const text = JSON.stringify(body);
  const host = `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`;
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': String(text.length), 'cf-connecting-ip': host },
    body: text,
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, env, createExecutionContext());
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

/** Stores the count of a hundred guesses at the password of an address. */
async function exhaustGuesses(email: string): Promise<void> {
  const guardKey = createHash('sha256').update(`address\n${email}`).digest('hex');
  await newestDatabaseOf(env, email)
    .prepare('INSERT INTO login_guard (guard_key, count, ends_at) VALUES (?, 100, ?)')
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
