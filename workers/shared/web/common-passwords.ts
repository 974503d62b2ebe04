/** Passwords that are too common to be accepted (NIST SP 800-63B §5.1.1.2 requires such a list). */
import { PACKED_COMMON_PASSWORDS } from './common-passwords.generated.ts';

let known: ReadonlySet<string> | null = null;

/** Whether a password is one of the 10,000 most common ones of at least 8 characters, regardless of case. */
export function isCommonPassword(password: string): boolean {
  known ??= unpack(PACKED_COMMON_PASSWORDS);
  return known.has(password.normalize('NFKC').toLowerCase());
}

function unpack(packed: string): ReadonlySet<string> {
  const passwords = new Set<string>();
  let before = '';
  for (const [, shared = '', rest = ''] of packed.matchAll(/([A-Z])([^A-Z\n]*)/g)) {
    before = before.slice(0, shared.charCodeAt(0) - 65) + rest;
    passwords.add(before);
  }
  return passwords;
}
