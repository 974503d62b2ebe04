/** Signing keys for return paths of forwarded mail. They are derived from MASTER_KEY, so rotating MASTER_KEY rotates them. */
import { createHmac } from 'node:crypto';
import { settingsOf } from '../../shared/settings/settings.ts';
import { type SignText, toBase32 } from '../domain/return-path.ts';

/** Signers for return paths: by the current key, then by the previous one during a rotation of MASTER_KEY. */
export function readReturnPathSigners(env: Env): SignText[] {
  const settings = settingsOf(env);
  const keys = [settings.MASTER_KEY, settings.MASTER_KEY_PREVIOUS].filter((key) => key !== '');
  return keys.map(
    (key) => (text) => toBase32(createHmac('sha256', `tessera return path ${key}`).update(text).digest()),
  );
}
