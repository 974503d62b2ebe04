/**
 * Routes in the hash (`#/buckets/photos?prefix=a/`), because the server answers 404 to all paths under `/_/` except the
 * pages.
 */
import { useSyncExternalStore } from 'react';

export interface Route {
  /** Decoded segments of the path in the hash. */
  parts: string[];
  query: URLSearchParams;
}

let lastHash: string | null = null;
let lastRoute: Route = { parts: [], query: new URLSearchParams() };

export function readRoute(): Route {
  const hash = location.hash;
  if (hash === lastHash) return lastRoute;
  lastHash = hash;
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  lastRoute = { parts: path.split('/').filter(Boolean).map(safeDecode), query: new URLSearchParams(query) };
  return lastRoute;
}

function safeDecode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

export const useRoute = (): Route => useSyncExternalStore(subscribe, readRoute);

export function toHash(parts: readonly string[], query: Record<string, string | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}

export function go(hash: string, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(history.state, '', hash);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else location.hash = hash;
}
