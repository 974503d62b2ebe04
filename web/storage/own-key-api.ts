/** Calls of the routes under `/v1/me/access-keys`. */
import { ApiError, callJson, type Page } from '../shared/api.ts';

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

/** Reads the user's access keys. @returns null without a session. */
export async function readOwnKeys(): Promise<OwnKey[] | null> {
  try {
    return (await callJson<Page<OwnKey>>('/v1/me/access-keys?limit=200')).data;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 404)) return null;
    throw error;
  }
}

/** Finds until when an access key of the user is valid; null if it has no end or belongs to another user. */
export const findKeyEnd = async (accessKeyId: string): Promise<string | null> =>
  (await readOwnKeys())?.find((key) => key.access_key_id === accessKeyId)?.expires_at ?? null;

export const revokeOwnKey = (accessKeyId: string): Promise<void> =>
  callJson(`/v1/me/access-keys/${encodeURIComponent(accessKeyId)}`, { method: 'DELETE' });
