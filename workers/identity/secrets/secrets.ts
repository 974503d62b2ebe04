/**
 * Encrypts ("seals") secrets at rest: AES-256-GCM with MASTER_KEY (32 bytes, base64). Each sealed text contains the name of its
 * key, so that the key can be rotated (`master-key.ts`).
 *
 * Form: `v1.<key name>.<nonce>.<ciphertext and tag>`, the last two in base64url. The context, which names the record, is
 * authenticated too: a sealed text that is copied to another record does not open.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { MisconfiguredError } from '../../shared/settings/settings.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

export interface MasterKeys {
  readonly MASTER_KEY: string;
  readonly MASTER_KEY_PREVIOUS?: string;
}

interface MasterKey {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Master keys by their text, so that each is parsed once. A deployment has at most two; tests may use more. */
const readKeys = new Map<string, MasterKey>();
const READ_KEYS_MAX = 16;

function readKey(base64: string, setting: keyof MasterKeys = 'MASTER_KEY'): MasterKey {
  const known = readKeys.get(base64);
  if (known) return known;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== KEY_BYTES)
    throw new MisconfiguredError({ name: setting, message: `must be ${KEY_BYTES} bytes in base64` });
  const key = { name: createHash('sha256').update(bytes).digest('hex').slice(0, 8), bytes };
  if (readKeys.size >= READ_KEYS_MAX) readKeys.clear();
  readKeys.set(base64, key);
  return key;
}

/**
 * Seals a secret with the present MASTER_KEY.
 * @param context name of the record that holds the secret, such as `access-key:AKIA…`.
 */
export function sealSecret(secret: string, context: string, keys: MasterKeys): string {
  const key = readKey(keys.MASTER_KEY);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `v1.${key.name}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
}

/**
 * Why a sealed text does not open. `unknown_key`: it was sealed by neither MASTER_KEY nor MASTER_KEY_PREVIOUS. `corrupt`: it was
 * altered, or is from another record.
 */
export function openSecret(
  sealed: string,
  context: string,
  keys: MasterKeys,
): Result<string, { kind: 'unknown_key' } | { kind: 'corrupt' }> {
  const [version, keyName, nonceText, text] = sealed.split('.');
  if (version !== 'v1' || !nonceText || !text) return err({ kind: 'corrupt' });
  const candidates = [readKey(keys.MASTER_KEY)];
  if (keys.MASTER_KEY_PREVIOUS) candidates.push(readKey(keys.MASTER_KEY_PREVIOUS, 'MASTER_KEY_PREVIOUS'));
  const key = candidates.find((candidate) => candidate.name === keyName);
  if (!key) return err({ kind: 'unknown_key' });
  try {
    const bytes = Buffer.from(text, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, Buffer.from(nonceText, 'base64url'));
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    const opened = Buffer.concat([decipher.update(bytes.subarray(0, bytes.length - TAG_BYTES)), decipher.final()]);
    return ok(opened.toString('utf8'));
  } catch {
    return err({ kind: 'corrupt' });
  }
}

/** Whether a text was sealed with the present MASTER_KEY. If not, it needs to be sealed again. */
export const isSealedByCurrentKey = (sealed: string, keys: MasterKeys): boolean =>
  sealed.split('.')[1] === readKey(keys.MASTER_KEY).name;

/**
 * Derives a secret of 32 bytes for one purpose. The same MASTER_KEY and purpose give the same secret; another MASTER_KEY gives
 * another one.
 */
export const deriveSecret = (purpose: string, keys: MasterKeys): Buffer =>
  Buffer.from(hkdfSync('sha256', readKey(keys.MASTER_KEY).bytes, '', purpose, KEY_BYTES));
