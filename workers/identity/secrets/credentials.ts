/** Creates credentials, and the hashes that are stored. */
import { createHash, randomBytes } from 'node:crypto';

/** Scoped tokens begin with `tok_`, mail sessions with `ses_`, operators' with `ops_`. The prefix selects the table to look in. */
export const mintToken = (): string => `tok_${randomBytes(32).toString('base64url')}`;
export const mintSessionSecret = (): string => `ses_${randomBytes(32).toString('base64url')}`;

export const mintOperatorSecret = (): string => `ops_${randomBytes(32).toString('base64url')}`;

/** 256 random bits need no slow hash: only the SHA-256 of a token is kept. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const KEY_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** 20 characters, as S3 clients expect. */
export const mintAccessKeyId = (): string =>
  `TESS${[...randomBytes(16)].map((byte) => KEY_ALPHABET[byte % KEY_ALPHABET.length]).join('')}`;

/** 40 characters of base64url. */
export const mintSecretAccessKey = (): string => randomBytes(30).toString('base64url');
