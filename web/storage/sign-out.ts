/** Signing out of storage. */
import { describeError } from '../shared/api.ts';
import { formatDateTime } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showToast } from '../shared/toasts.tsx';
import { forgetUnsaved } from '../shared/unsaved.tsx';
import { setKey, signedIn } from './key.ts';
import { revokeOwnKey } from './own-key-api.ts';
import { type Key, listBuckets, S3Error, toOwner } from './s3.ts';

const t = storageTexts.signIn;
/** The text about a key that still works names what to do, so it stays longer than other errors. */
const NOT_REVOKED_SHOWN_MS = 60_000;

/** Whether storage no longer knows the key. The API answers 404 also if the mailbox of this browser is now another one. */
const isGone = (key: Key): Promise<boolean> =>
  listBuckets(key).then(
    () => false,
    (error: unknown) => error instanceof S3Error && error.code === 'InvalidAccessKeyId',
  );

/** Forgets the key in all tabs, and revokes it if the sign-in with a mailbox created it. Links that it signed end with it. */
export async function signOut(): Promise<void> {
  const { key } = signedIn.get();
  if (key) forgetUnsaved(toOwner(key));
  setKey(null);
  if (key?.ownerEmail === undefined) return;
  try {
    await revokeOwnKey(key.accessKeyId);
    showToast(t.signedOut);
  } catch (error) {
    if (await isGone(key)) return void showToast(t.signedOut);
    const values = { key: key.accessKeyId, reason: describeError(error), date: formatDateTime(key.expiresAt ?? '') };
    showToast(fill(t.notRevoked, values), { bad: true, durationMs: NOT_REVOKED_SHOWN_MS });
  }
}
