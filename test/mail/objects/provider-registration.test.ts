/** Kills the first sign-in of a person at each of its calls of a store. The next sign-in must give the account. */
import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { signInByProof } from '../../../workers/mail/accounts/provider-accounts.ts';
import { createAccountStore } from '../../../workers/mail/store/account-store.ts';

/** A database of which one call fails: before it is made, or after it, when only the answer is lost. */
function failing(
  database: D1Database,
  at: number,
  when: 'before' | 'after',
): { database: D1Database; calls: () => number } {
  let calls = 0;
  const guard = async <T>(run: () => Promise<T>): Promise<T> => {
    calls += 1;
    const isLast = calls === at;
    if (isLast && when === 'before') throw new Error('killed');
    const answer = await run();
    if (isLast) throw new Error('killed');
    // Nothing runs after the end of an isolate.
    if (calls > at) throw new Error('dead');
    return answer;
  };
  const wrap = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (name === 'bind') return (...values: unknown[]) => wrap(target.bind(...values));
        if (name === 'inner') return target;
        if (typeof member !== 'function') return member;
        return (...given: unknown[]) => guard(() => member.apply(target, given));
      },
    });
  const unwrap = (statement: D1PreparedStatement) =>
    (statement as unknown as { inner?: D1PreparedStatement }).inner ?? statement;
  const proxy = new Proxy(database, {
    get(target, name) {
      if (name === 'prepare') return (text: string) => wrap(target.prepare(text));
      if (name === 'batch') return (all: D1PreparedStatement[]) => guard(() => target.batch(all.map(unwrap)));
      if (name === 'withSession') return () => proxy;
      const member = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return { database: proxy, calls: () => calls };
}

const withClaims = { ...(env as Env), OIDC_NEW_ACCOUNTS: 'verified' } as Env;
const toProof = (name: string) => ({
  issuer: 'https://id.corp.test',
  subject: `subject ${name}`,
  email: `${name}@example.test`,
  isEmailVerified: true,
  name: 'Person',
  hostedDomain: null,
  groups: [],
  refreshToken: null,
  sid: null,
  authenticatedAt: null,
});

it.each(['before', 'after'] as const)(
  'a first sign-in that dies %s a call leaves the address to the same person',
  async (when) => {
    for (let at = 1, isKilled = true; isKilled; at += 1) {
      const proof = toProof(`p${crypto.randomUUID().slice(0, 13)}`);
      const broken = failing(withClaims.DIRECTORY, at, when);
      const died = await signInByProof({ ...withClaims, DIRECTORY: broken.database }, proof, Date.now()).then(
        () => false,
        () => true,
      );
      isKilled = died;
      const again = await signInByProof(withClaims, proof, Date.now());
      expect(again.ok ? again.value.email : again.error, `killed ${when} call ${at}`).toBe(proof.email);
      expect(at).toBeLessThan(40);
    }
  },
);

it('a person who signs in twice at once has one account', async () => {
  const proof = toProof(`p${crypto.randomUUID().slice(0, 13)}`);
  const both = await Promise.all([1, 2].map(() => signInByProof(withClaims, proof, Date.now())));
  const ids = both.map((one) => (one.ok ? one.value.userId : one.error));
  expect(ids[0]).toBe(ids[1]);
  const other = await signInByProof(withClaims, { ...proof, subject: 'somebody else' }, Date.now());
  expect(other.ok).toBe(false);
  expect(await createAccountStore(withClaims.DIRECTORY).findAccount(String(ids[0]))).not.toBeNull();
});
