/** Registers the service worker, which opens this page offline, and opens the conversation of a notification that was clicked. */
import { go } from '../../shared/hash-route.ts';

/** The page's policy accepts the address of a script only from this Trusted Types policy. */
interface ScriptPolicy {
  createScriptURL(text: string): string;
}
const ADDRESS = '/_/sw.js';
const trustedTypes = (
  globalThis as { trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy } }
).trustedTypes;
const policy = trustedTypes?.createPolicy('service-worker', { createScriptURL: () => ADDRESS });

function openNotified({ data }: MessageEvent<{ hash?: unknown }>): void {
  if (typeof data?.hash === 'string' && data.hash.startsWith('#/')) go(data.hash);
}

export function registerOfflinePage(): void {
  navigator.serviceWorker?.addEventListener('message', openNotified);
  // Without a service worker the page needs the network to open, and works otherwise.
  navigator.serviceWorker
    ?.register(policy?.createScriptURL(ADDRESS) ?? ADDRESS, { scope: '/_/', updateViaCache: 'none' })
    .catch(() => undefined);
}
