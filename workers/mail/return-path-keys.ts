/** What return paths of forwarded mail are signed with: a key of their own, made from MASTER_KEY, so that rotation is one. */
import { createHmac } from 'node:crypto';
import { settingsOf } from '../shared/settings.ts';
import { type SignText, toBase32 } from './domain/return-path.ts';

/** The present key first, then the previous one while secrets are being re-sealed. */
export function readReturnPathSigners(env: Env): SignText[] {
  const settings = settingsOf(env);
  const keys = [settings.MASTER_KEY, settings.MASTER_KEY_PREVIOUS].filter((key) => key !== '');
  return keys.map(
    (key) => (text) => toBase32(createHmac('sha256', `tessera return path ${key}`).update(text).digest()),
  );
}
