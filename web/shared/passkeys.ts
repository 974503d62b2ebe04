/** Asks this browser for a passkey. */
import { callJson } from './api.ts';
import { texts } from './texts/index.ts';

/** Whether the browser supports passkeys and can parse their options from JSON, as browsers of 2025 and later do. */
export const isPasskeySupported = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

/** Converts the response of a passkey to JSON for the API. */
export function toPasskeyJson(credential: Credential | null): unknown {
  if (credential instanceof PublicKeyCredential) return credential.toJSON();
  throw new Error(texts.app.passkeys.unused);
}

/** Browsers do not tell why a passkey was not used: it may be missing, refused or timed out. */
export function explainPasskeyError(error: unknown): never {
  if (error instanceof DOMException && error.name === 'InvalidStateError') {
    throw new Error(texts.app.passkeys.known);
  }
  if (error instanceof DOMException) throw new Error(texts.app.passkeys.unused);
  throw error;
}

/** Asks the user for a passkey. @returns the answer of the device, for the API. */
export async function askForPasskey(): Promise<unknown> {
  const options = await callJson<PublicKeyCredentialRequestOptionsJSON>('/v1/auth/passkey/options', { method: 'POST' });
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return toPasskeyJson(await navigator.credentials.get({ publicKey }).catch(explainPasskeyError));
}
