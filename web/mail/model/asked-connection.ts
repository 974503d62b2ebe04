/** The request of an agent that waits while the person signs in or confirms the session at the provider, in this tab. */
import { useEffect } from 'react';
import { go, type Route, toHash } from '../../shared/hash-route.ts';

const KEY = 'asked-connection';
const AGE_MS = 10 * 60_000;

/** Keeps the request that the address names. @returns whether it names one. */
export function useAskedConnection({ parts, query }: Route): boolean {
  const isAsked = parts[0] === 'connect';
  const asked = query.toString();
  useEffect(() => {
    if (isAsked) sessionStorage.setItem(KEY, JSON.stringify([asked, Date.now()]));
  }, [isAsked, asked]);
  return isAsked;
}

export const forgetAsked = (): void => sessionStorage.removeItem(KEY);

/** Shows a request of the last ten minutes again. @returns whether there is one. */
export function resumeAsked(): boolean {
  const [query = '', at = 0] = JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as [string?, number?];
  if (at < Date.now() - AGE_MS) return false;
  go(toHash(['connect'], Object.fromEntries(new URLSearchParams(query))), { replace: true });
  return true;
}
