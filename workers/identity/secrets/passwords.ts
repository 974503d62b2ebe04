/** Passwords of mail accounts and operators: scrypt, stored as `scrypt$N$r$p$salt$hash`. */
import { randomBytes, scrypt } from 'node:crypto';
import type { Problem } from '../../shared/json/problem.ts';
import { equalInConstantTime } from '../../shared/pure/constant-time.ts';
import { ok, type Result } from '../../shared/pure/result.ts';
import { type Hasher, hashGate } from './hash-gate.ts';
import { PASSWORD_COST, type PasswordCost } from './password-cost.ts';

const HASH_BYTES = 32;
/**
 * Maximum memory of a hash. scrypt needs 128·N·r bytes (16 MiB) and a little more. Larger parameters in a stored hash fail instead
 * of using up the isolate's memory.
 */
const MEMORY_BYTES_MAX = 64 * 1024 * 1024;

const derive = (password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, { ...cost, maxmem: MEMORY_BYTES_MAX }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });

/** Hashes a new password. @param who whose hash goes first. @returns 503 while too many hashes wait. */
export async function hashPassword(password: string, who: Hasher): Promise<Result<string, Problem>> {
  const salt = randomBytes(16);
  const derived = await hashGate.run(who, () => derive(password, salt, PASSWORD_COST));
  return derived.ok ? ok(format(salt, derived.value)) : derived;
}

function format(salt: Buffer, key: Buffer): string {
  const { N, r, p } = PASSWORD_COST;
  return `scrypt$${N}$${r}$${p}$${salt.toString('base64url')}$${key.toString('base64url')}`;
}

/** Returns the hash that stands for an account that does not exist. Verifying it costs as much as verifying a new one. */
const nobody = (): string => format(Buffer.alloc(16), Buffer.alloc(HASH_BYTES));

/**
 * Verifies a password.
 * @param hash stored hash; null if the account does not exist. In that case the same work is done and the result is false.
 * @param who whose hash goes first. @returns 503 while too many hashes wait.
 */
export async function verifyPassword(
  password: string,
  hash: string | null,
  who: Hasher,
): Promise<Result<boolean, Problem>> {
  const [, N, r, p, salt = '', expected = ''] = (hash ?? nobody()).split('$');
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  const derived = await hashGate.run(who, () => derive(password, Buffer.from(salt, 'base64url'), cost));
  if (!derived.ok) return derived;
  return ok(equalInConstantTime(derived.value, Buffer.from(expected, 'base64url')) && hash !== null);
}
