/** Whether this browser is signed in to a mailbox, as far as its pages know. The session is a cookie that scripts cannot read. */
const KEY = 'tessera.mail.signed-in';

export function isSignedInHere(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

export function noteSignedInHere(isSignedIn: boolean): void {
  try {
    if (isSignedIn) localStorage.setItem(KEY, '1');
    else localStorage.removeItem(KEY);
  } catch {
    // Without local storage, each visit is like the first.
  }
}
