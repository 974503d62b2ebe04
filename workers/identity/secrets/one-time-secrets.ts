/** Secrets that work once and for a short time. Only their hashes are stored. */
import { createHash, randomBytes } from 'node:crypto';
import { mintSecret } from './credentials.ts';

export type SecretPurpose =
  /** Secret of a password reset link that an operator created. */
  | 'operator_reset'
  /** Secret of a password reset link that was mailed to the recovery address. */
  | 'mailed_reset'
  /** Code that confirms a recovery address. */
  | 'recovery_address'
  /** Code that admits a login while strangers guess at the password. */
  | 'login_code'
  | 'passkey_registration'
  | 'passkey_login'
  /** Cookie with which a page takes what a provider said of the person. */
  | 'sign_in_proof'
  /** Id of a log-out token of a provider, which is accepted once. */
  | 'provider_log_out';

/**
 * Hash under which a one-time secret is stored.
 * @param parts further text that binds the secret to an account, if the request names one.
 */
export const hashSecret = (purpose: SecretPurpose, secret: string, ...parts: readonly string[]): string =>
  createHash('sha256')
    .update([purpose, ...parts, secret].join('\n'))
    .digest('hex');

/**
 * Creates the secret of a reset link.
 * @param home number of the database that stores its hash. The secret contains the number, unless it is 0 (`DIRECTORY`).
 */
export const mintResetToken = (home: number): string => mintSecret('rst', home);

const CODE_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/**
 * Creates a code that a person types: 50 random bits in two groups. It cannot be guessed, so guesses have no limit; a stranger
 * could use up a limit to lock the owner out.
 */
export function mintMailedCode(): string {
  const text = [...randomBytes(10)].map((byte) => CODE_ALPHABET[byte & 31]).join('');
  return `${text.slice(0, 5)}-${text.slice(5)}`;
}

/** Removes spaces and dashes from a typed code and converts it to lower case. */
export const normalizeCode = (code: string): string => code.toLowerCase().replace(/[^a-z0-9]/g, '');
