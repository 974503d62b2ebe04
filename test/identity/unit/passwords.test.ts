import { scrypt, scryptSync } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';

vi.mock('node:crypto', async (load) => {
  const real = await load<typeof import('node:crypto')>();
  return { ...real, scrypt: vi.fn(real.scrypt) };
});

// A file that ran before may have loaded the module, which then has the real function.
vi.resetModules();
const { hashPassword, verifyPassword } = await import('../../../workers/identity/secrets/passwords.ts');

/** Verifies at the real cost; the other tests' builds hash at a low one. */
describe('passwords', () => {
  it('are stored with the cost that OWASP recommends, and verified', async () => {
    const hashed = await hashPassword('correct horse battery', 'known');
    if (!hashed.ok) throw new Error('busy');
    const [kind, N, r, p, salt = '', key] = hashed.value.split('$');
    expect([kind, N, r, p]).toEqual(['scrypt', '16384', '8', '5']);
    const expected = scryptSync('correct horse battery', Buffer.from(salt, 'base64url'), 32, { N: 16_384, r: 8, p: 5 });
    expect(key).toBe(expected.toString('base64url'));
    expect(await verifyPassword('correct horse battery', hashed.value, 'known')).toEqual({ ok: true, value: true });
    expect(await verifyPassword('correct horse batterx', hashed.value, 'known')).toEqual({ ok: true, value: false });
  });

  it('are verified with the cost of their own hash', async () => {
    const salt = Buffer.alloc(16, 3);
    const key = scryptSync('old', salt, 32, { N: 1024, r: 8, p: 1 });
    const stored = `scrypt$1024$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
    expect(await verifyPassword('old', stored, 'known')).toEqual({ ok: true, value: true });
  });

  it('of an account that does not exist are wrong, after the same work', async () => {
    vi.mocked(scrypt).mockClear();
    expect(await verifyPassword('anything', null, 'known')).toEqual({ ok: true, value: false });
    const cost = expect.objectContaining({ N: 16_384, r: 8, p: 5 });
    expect(vi.mocked(scrypt).mock.calls).toEqual([['anything', Buffer.alloc(16), 32, cost, expect.any(Function)]]);
  });
});
