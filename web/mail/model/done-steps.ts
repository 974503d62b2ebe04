/** Facts that the welcome shows: whether the user has imported mail in this browser, and whether the account has a passkey. */
import { callJson } from '../../shared/api.ts';
import type { Passkey } from './passkeys.ts';
import { session } from './session.ts';

const KEY = 'tessera.mail.imported';

const keyOf = (): string => `${KEY}.${session.get().profile?.user_id ?? ''}`;

/** The mailbox does not list imports, so this browser remembers that one was made. */
export function noteImport(): void {
  try {
    localStorage.setItem(keyOf(), '1');
  } catch {
    // Storage is unavailable, so the welcome keeps suggesting an import.
  }
}

export function hasImported(): boolean {
  try {
    return localStorage.getItem(keyOf()) !== null;
  } catch {
    return false;
  }
}

/** Without the network, the welcome shows no tick. */
export const hasPasskey = (): Promise<boolean> =>
  callJson<{ data: Passkey[] }>('/v1/me/passkeys').then(
    ({ data }) => data.length > 0,
    () => false,
  );
