/** A transport with a password is sealed at rest; one without is kept as it is. */
import { openSecret, sealSecret } from '../../identity/index.ts';

export const TRANSPORT_CONTEXT = 'mail-transport';
export const SEALED_PREFIX = 'sealed:';

export const sealTransport = (transport: string, env: Env): string =>
  /^\w+:\/\/[^@/]+@/.test(transport) ? SEALED_PREFIX + sealSecret(transport, TRANSPORT_CONTEXT, env) : transport;

/** @returns the transport; words that are none when it cannot be opened, so that mail waits and says why. */
export function unsealTransport(stored: string, env: Env): string {
  if (!stored.startsWith(SEALED_PREFIX)) return stored;
  const opened = openSecret(stored.slice(SEALED_PREFIX.length), TRANSPORT_CONTEXT, env);
  return opened.ok ? opened.value : `its password cannot be opened with MASTER_KEY (${opened.error.kind})`;
}
