/** Registers the service worker, which opens this page offline. */

/** The page's policy accepts the address of a script only from this Trusted Types policy. */
interface ScriptPolicy {
  createScriptURL(text: string): string;
}
const ADDRESS = '/_/sw.js';
const trustedTypes = (
  globalThis as { trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy } }
).trustedTypes;
const policy = trustedTypes?.createPolicy('service-worker', { createScriptURL: () => ADDRESS });

export function registerOfflinePage(): void {
  // Without a service worker the page needs the network to open, and works otherwise.
  navigator.serviceWorker
    ?.register(policy?.createScriptURL(ADDRESS) ?? ADDRESS, { scope: '/_/', updateViaCache: 'none' })
    .catch(() => undefined);
}
