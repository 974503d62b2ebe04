/** Seals transports for storage. Only a transport with a password is sealed; any other is stored in the clear. */
import { openSecret, sealSecret } from '../../identity/index.ts';

export const TRANSPORT_CONTEXT = 'mail-transport';
export const SEALED_PREFIX = 'sealed:';

export const sealTransport = (transport: string, env: Env): string =>
  /^\w+:\/\/[^@/]+@/.test(transport) ? SEALED_PREFIX + sealSecret(transport, TRANSPORT_CONTEXT, env) : transport;

/**
 * Unseals a transport. If that fails, returns an invalid transport whose text is the reason. Mail for it is then deferred with that
 * reason.
 */
export function unsealTransport(stored: string, env: Env): string {
  if (!stored.startsWith(SEALED_PREFIX)) return stored;
  const opened = openSecret(stored.slice(SEALED_PREFIX.length), TRANSPORT_CONTEXT, env);
  return opened.ok ? opened.value : `cannot unseal its password with MASTER_KEY (${opened.error.kind})`;
}
