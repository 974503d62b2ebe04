/** Credentials at their edge: a recovery code that is sent twice at the same moment. */
import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { createLoginStore } from '../../../workers/identity/store/login-store.ts';

it('a recovery code works once, also for two log-ins that have both read it', async () => {
  const userId = crypto.randomUUID();
  await env.DIRECTORY.prepare(
    'INSERT INTO user(user_id, user_name, name, email, created_at) VALUES (?1, ?1, ?1, NULL, 1)',
  )
    .bind(userId)
    .run();
  const store = createLoginStore(env.DIRECTORY);
  const codes = ['one', 'two', 'three'].map((code) => code.padEnd(64, '0'));
  await store.putSecondFactor({ userId, seedSealed: 'sealed', confirmedAt: 1, lastStep: 0, recoverySha256: codes });
  const [row, same] = [await store.findSecondFactor(userId), await store.findSecondFactor(userId)];
  if (!row || !same) throw new Error('no second factor');
  expect(await store.takeRecoveryCode(row, codes[0] ?? '')).toBe(true);
  expect(await store.takeRecoveryCode(same, codes[0] ?? '')).toBe(false);
  // A log-in that read the list before must not bring the used code back with its own.
  expect(await store.takeRecoveryCode(same, codes[1] ?? '')).toBe(false);
  expect((await store.findSecondFactor(userId))?.recoverySha256).toEqual(codes.slice(1));
  const fresh = await store.findSecondFactor(userId);
  expect(fresh && (await store.takeRecoveryCode(fresh, codes[1] ?? ''))).toBe(true);
});
