import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isSealedByCurrentKey, openSecret, sealSecret } from '../../../workers/identity/secrets/secrets.ts';

const MASTER_KEY = randomBytes(32).toString('base64');
const NEXT_KEY = randomBytes(32).toString('base64');

describe('a sealed secret', () => {
  it('opens for its own record', () => {
    const sealed = sealSecret('hunter2', 'access-key:A', { MASTER_KEY });
    expect(openSecret(sealed, 'access-key:A', { MASTER_KEY })).toEqual({ ok: true, value: 'hunter2' });
  });

  it('does not open after it was altered or moved to another record', () => {
    const sealed = sealSecret('hunter2', 'access-key:A', { MASTER_KEY });
    expect(openSecret(sealed, 'access-key:B', { MASTER_KEY })).toMatchObject({ error: { kind: 'corrupt' } });
    const altered = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    expect(openSecret(altered, 'access-key:A', { MASTER_KEY })).toMatchObject({ error: { kind: 'corrupt' } });
  });

  it('opens with the previous key during a key rotation, and asks to be sealed again', () => {
    const sealed = sealSecret('hunter2', 'access-key:A', { MASTER_KEY });
    const keys = { MASTER_KEY: NEXT_KEY, MASTER_KEY_PREVIOUS: MASTER_KEY };
    expect(openSecret(sealed, 'access-key:A', keys)).toEqual({ ok: true, value: 'hunter2' });
    expect(isSealedByCurrentKey(sealed, keys)).toBe(false);
    expect(openSecret(sealed, 'access-key:A', { MASTER_KEY: NEXT_KEY })).toMatchObject({
      error: { kind: 'unknown_key' },
    });
  });
});
