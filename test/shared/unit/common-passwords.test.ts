import { describe, expect, it } from 'vitest';
import { passwordSchema } from '../../../workers/mail/schemas/account.ts';
import { PACKED_COMMON_PASSWORDS } from '../../../workers/shared/web/common-passwords.generated.ts';
import { isCommonPassword } from '../../../workers/shared/web/common-passwords.ts';

/** Passwords of the list: the first and the last in its order, and neighbours that share a prefix. */
const COMMON = ['!qaz2wsx', '12345678', 'baseball', 'football', 'iloveyou', 'password', 'password1', 'password123'];
const OTHERS = [
  'correct horse battery',
  'long enough password',
  'battery staple correct',
  'a better one',
  'ada-password',
];

describe('the list of common passwords', () => {
  it('has 10,000 entries', () => {
    expect(PACKED_COMMON_PASSWORDS.match(/[A-Z]/g)).toHaveLength(10_000);
  });
  it.each(COMMON)('contains %s', (password) => {
    expect(isCommonPassword(password)).toBe(true);
  });
  it.each(['PassWord123', 'FOOTBALL', 'ｐａｓｓｗｏｒｄ'])('contains %s, whatever its case and width', (password) => {
    expect(isCommonPassword(password)).toBe(true);
  });
  it.each([...OTHERS, '', 'A', 'password ', 'passwor', 'Bpassword'])('does not contain %j', (password) => {
    expect(isCommonPassword(password)).toBe(false);
  });
});

describe('a new password', () => {
  const messageOf = (password: string) => passwordSchema.safeParse(password).error?.issues[0]?.message;
  it('may not be a common one', () => {
    expect(messageOf('Password123')).toBe('is too common: choose another one');
    expect(messageOf('correct horse battery')).toBeUndefined();
  });
  it('has at least 8 characters, which is a different error', () => {
    expect(messageOf('qwerty')).not.toContain('common');
    expect(messageOf('qwerty')).toBeDefined();
  });
});
