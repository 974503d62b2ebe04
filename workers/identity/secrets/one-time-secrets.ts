/** Secrets that work once and for a short time. Only their hashes are stored. */
import { createHash, randomBytes } from 'node:crypto';

export type SecretPurpose =
  /** A link that an operator gave out. */
  | 'operator_reset'
  /** A link that was mailed to the recovery address. */
  | 'mailed_reset'
  /** A code that confirms a recovery address. */
  | 'recovery_address'
  /** A code that admits a login while strangers guess at the password. */
  | 'login_code'
  | 'passkey_registration'
  | 'passkey_login';

/** @param parts bind the secret to an account, if the request names one. */
export const hashSecret = (purpose: SecretPurpose, secret: string, ...parts: readonly string[]): string =>
  createHash('sha256')
    .update([purpose, ...parts, secret].join('\n'))
    .digest('hex');

export const mintResetToken = (): string => `rst_${randomBytes(32).toString('base64url')}`;

const CODE_ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/**
 * A code to be typed: 50 random bits in two groups. They cannot be guessed, so guesses have no limit. A stranger could use up a
 * limit to lock the owner out.
 */
export function mintMailedCode(): string {
  const text = [...randomBytes(10)].map((byte) => CODE_ALPHABET[byte & 31]).join('');
  return `${text.slice(0, 5)}-${text.slice(5)}`;
}

/** The code without spaces, dashes and capitals. */
export const normalizeCode = (code: string): string => code.toLowerCase().replace(/[^a-z0-9]/g, '');
