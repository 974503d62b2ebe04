/** Credentials for S3 authentication, from identity's tables. */

import { settingsOf } from '../shared/settings.ts';
import { authenticateBearer, toUser } from './authenticate.ts';
import type { UserPrincipal } from './principal.ts';
import type { S3Credentials } from './s3-authentication.ts';
import { openSecret } from './secrets.ts';
import { lookUpTogether } from './shared-look-up.ts';
import { createIdentityStore } from './store.ts';

/** `ALLOW_SIGV2=false` turns Signature Version 2 off, in links and in forms. */
const isSigV2Allowed = (env: Env): boolean => settingsOf(env).ALLOW_SIGV2;

export function createS3Credentials(env: Env, now: number): S3Credentials {
  return {
    allowsSigV2: isSigV2Allowed(env),

    async findAccessKey(accessKeyId) {
      const row = await lookUpTogether(`access-key ${accessKeyId}`, () =>
        createIdentityStore(env.DIRECTORY).findAccessKey(accessKeyId, now),
      );
      if (row === null) return null;
      const secret = openSecret(row.secretSealed, `access-key:${accessKeyId}`, env);
      // A secret that cannot be opened is the operator's fault (a lost MASTER_KEY), never the caller's.
      if (!secret.ok) throw new Error(`the secret of access key ${accessKeyId} does not open: ${secret.error.kind}`);
      return { secretAccessKey: secret.value, principal: toUser(row, 'access_key', null) };
    },

    /**
     * Accepts a user's token with an `objects:` scope. Root and service tokens are not S3 identities; mail sessions are
     * valid for mail only.
     */
    async findBearer(token): Promise<UserPrincipal | null> {
      const found = await authenticateBearer(`Bearer ${token}`, env, now);
      if (!found.ok || found.value?.kind !== 'user' || found.value.via !== 'token') return null;
      return found.value.scopes?.some((scope) => scope.startsWith('objects:')) ? found.value : null;
    },
  };
}

/** A user that an ACL can name. */
export interface S3User {
  readonly userId: string;
  readonly name: string;
}

export async function findS3User(env: Env, userId: string): Promise<S3User | null> {
  return createIdentityStore(env.DIRECTORY).findUser(userId);
}

/** @returns the user with this address, if any. Emails are unique. */
export async function findS3UsersByEmail(env: Env, email: string): Promise<readonly S3User[]> {
  const user = await createIdentityStore(env.DIRECTORY).findUserByEmail(email);
  return user === null ? [] : [user];
}
