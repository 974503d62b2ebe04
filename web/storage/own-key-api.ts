/** Calls of the routes under `/v1/me/access-keys`. */
import { callJson } from '../shared/api.ts';

export interface OwnKey {
  access_key_id: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}
export interface NewKey extends OwnKey {
  secret_access_key: string;
}

/** Creates an access key. Asks the user for the password if the session is not confirmed. */
export const createOwnKey = (body: { expires_at?: string }): Promise<NewKey> =>
  callJson<NewKey>('/v1/me/access-keys', { method: 'POST', body });
