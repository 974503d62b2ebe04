/** Passkeys of the account: signs in with one, and creates one. */
import type { Passkey } from '../../../workers/shared/web/passkey-json.ts';
import { callJson } from '../../shared/api.ts';
import { askForPasskey, explainPasskeyError, toPasskeyJson } from '../../shared/passkeys.ts';
import { resumeSession } from './session.ts';

export type { Passkey };

export async function signInWithPasskey(): Promise<void> {
  await callJson('/v1/auth/passkey/login', { body: { response: await askForPasskey() } });
  await resumeSession();
}

export async function createPasskey(name: string): Promise<void> {
  const options = await callJson<PublicKeyCredentialCreationOptionsJSON>('/v1/me/passkeys/options', { method: 'POST' });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const response = toPasskeyJson(await navigator.credentials.create({ publicKey }).catch(explainPasskeyError));
  await callJson('/v1/me/passkeys', { body: { name, response } });
}
