/** The user who is signed in. The session itself is a cookie that scripts cannot read. */
import { ApiError, callJson } from '../../shared/api.ts';
import { noteSignedInHere } from '../../shared/signed-in.ts';
import { createStore } from '../../shared/store.ts';
import { forgetUnsaved } from '../../shared/unsaved.tsx';
import { loadProfile, type Profile } from './api.ts';
import { forgetFirstReads } from './first-reads.ts';
import { setAnswerOwner } from './kept-answers.ts';

export const session = createStore<{ status: 'asking' | 'out' | 'in' | 'away'; profile: Profile | null }>({
  status: 'asking',
  profile: null,
});

function endSession(): void {
  noteSignedInHere(false);
  forgetFirstReads();
  session.set({ status: 'out', profile: null });
}

export async function resumeSession(): Promise<void> {
  try {
    const profile = await loadProfile();
    setAnswerOwner(profile.user_id);
    noteSignedInHere(true);
    session.set({ status: 'in', profile });
  } catch (error) {
    const isSignedOut = error instanceof ApiError && (error.status === 401 || error.status === 403);
    if (isSignedOut) endSession();
    else session.set({ status: 'away', profile: null });
  }
}

/** Reads again how full the mailbox is. Without a connection, the last known figures stay. */
export async function refreshQuota(): Promise<void> {
  try {
    const { user_id, quota } = await loadProfile();
    session.set(({ profile }) => (profile?.user_id === user_id ? { profile: { ...profile, quota } } : {}));
  } catch (error) {
    signOutIfUnauthorized(error);
  }
}

export interface SignIn {
  email: string;
  password: string;
  totp?: string;
  recovery_code?: string;
  turnstile?: string;
  proof?: string;
  mailed_code?: string;
  /** Response of a passkey, in JSON. */
  passkey?: unknown;
}

export async function signIn(credentials: SignIn): Promise<void> {
  await callJson('/v1/auth/login', { body: credentials });
  await resumeSession();
}

export async function register(account: {
  email: string;
  password: string;
  name: string;
  invite?: string;
  turnstile?: string;
}) {
  await callJson('/v1/auth/register', { body: account });
  // Registration starts a session. If it sets no cookie, sign in.
  await resumeSession();
  if (session.get().status !== 'in') await signIn({ email: account.email, password: account.password });
}

export async function signOut(): Promise<void> {
  await callJson('/v1/auth/logout', { method: 'POST' }).catch(() => undefined);
  forgetUnsaved(session.get().profile?.user_id ?? '');
  endSession();
}

/** Signs out in this tab if an API call finds that the session has ended, for example from another browser. */
export function signOutIfUnauthorized(error: unknown): void {
  if (error instanceof ApiError && error.status === 401) endSession();
}
