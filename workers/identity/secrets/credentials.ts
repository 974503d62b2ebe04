/** Creates credentials, and computes the hashes under which they are stored. */
import { createHash, randomBytes } from 'node:crypto';

/**
 * Creates a secret that a user database stores as a hash.
 * @param home number of the database. The secret contains the number, unless it is 0 (`DIRECTORY`).
 */
export const mintSecret = (prefix: string, home: number): string =>
  `${prefix}_${home === 0 ? '' : `${home}_`}${randomBytes(32).toString('base64url')}`;

/** @returns the number of the database that has the hash of a secret of `mintSecret`. */
export const homeOfSecret = (secret: string): number => Number(/^[a-z]+_(\d+)_[\w-]{43}$/.exec(secret)?.[1] ?? 0);

/** Creates a token for an operator to hand out. @param home number of the database that stores its hash. */
export const mintToken = (home: number): string => mintSecret('tok', home);

export const mintOperatorSecret = (): string => `ops_${randomBytes(32).toString('base64url')}`;

const KEPT_PREFIX = { session: 'ses', token: 'tok' } as const;

/**
 * Creates the secret of a session or app token. The secret contains the id of its user, whose mailbox stores the hash. The user id
 * is not secret; the hash covers it.
 */
export const mintKeptSecret = (kind: 'session' | 'token', userId: string): string =>
  `${KEPT_PREFIX[kind]}_${userId}_${randomBytes(32).toString('base64url')}`;

const KEPT = /^(?:ses|tok)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})_[\w-]{43}$/;

/** @returns the id of the user to whom a session or an app token belongs; null for any other text. */
export const readKeptUser = (secret: string): string | null => KEPT.exec(secret)?.[1] ?? null;

/** Hash of a token, as it is stored. A token has 256 random bits, so it needs no slow hash. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const KEY_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const mintKeyLetters = (): string =>
  [...randomBytes(16)].map((byte) => KEY_ALPHABET[byte % KEY_ALPHABET.length]).join('');

/** Creates the id of a temporary key, of 20 characters. */
export const mintTemporaryKeyId = (): string => `TEMP${mintKeyLetters()}`;

const KEY_OF_HOME = /^TESD(\d{2})[A-Z2-7]{14}$/;

/**
 * Creates an access key id of 20 characters, as S3 clients expect.
 * @param home number of the database that has the key. The id contains the number, unless it is 0 (`DIRECTORY`).
 */
export function mintAccessKeyId(home: number): string {
  const letters = mintKeyLetters();
  return home === 0 ? `TESS${letters}` : `TESD${String(home).padStart(2, '0')}${letters.slice(2)}`;
}

/** @returns the number of the database that has the access key. */
export const homeOfAccessKey = (accessKeyId: string): number => Number(KEY_OF_HOME.exec(accessKeyId)?.[1] ?? 0);

/** Creates a secret access key of 40 characters in base64url. */
export const mintSecretAccessKey = (): string => randomBytes(30).toString('base64url');
