/** The operator's token: the root token, or one with the scope `admin`. It stays in this tab. */
import { type CallOptions, call, callJson } from '../shared/api.ts';
import { createStore } from '../shared/store.ts';

const STORAGE_KEY = 'tessera.operator.token';

function read(): string | null {
  try {
    return sessionStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

export const operator = createStore<{ token: string | null }>({ token: read() });

export function setToken(token: string | null): void {
  try {
    if (token) sessionStorage.setItem(STORAGE_KEY, token);
    else sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // Session storage is unavailable, so the token lasts until the user leaves the page.
  }
  operator.set({ token });
}

/** Ends the session of an operator who logged in. A token stays valid. */
export function signOut(): void {
  const { token } = operator.get();
  if (token?.startsWith('ops_')) call('/v1/operators/logout', { method: 'POST', token }).catch(() => undefined);
  setToken(null);
}

const withToken = (options: CallOptions): CallOptions => ({ token: operator.get().token, ...options });
export const requestJson = <T>(path: string, options: CallOptions = {}): Promise<T> =>
  callJson<T>(path, withToken(options));
export const request = (path: string, options: CallOptions): Promise<Response> => call(path, withToken(options));
