/** Reads credentials for S3 authentication from identity's tables. */

import { err, ok } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { findDatabase, isPossibleUserId } from '../../shared/stores/directories.ts';
import type { Source } from '../../shared/stores/replica.ts';
import { toUser } from '../callers/authenticate.ts';
import { SecretAccessKey } from '../domain/sigv4.ts';
import { opensObjects, type PolicyDocument, type Scope, type UserPrincipal } from '../principal.ts';
import { findIn, type IdentityGeneration } from '../revocations.ts';
import { hashToken, homeOfAccessKey, homeOfSecret } from '../secrets/credentials.ts';
import { type MasterKeys, openSecret } from '../secrets/secrets.ts';
import { openTemporaryKey } from '../secrets/temporary-keys.ts';
import { type DatedAccessKey, type DatedCredential, findAccessKey, findToken } from '../store/store.ts';
import { findUserByEmail, findUserById } from '../users/users.ts';
import type { S3Credentials } from './s3-authentication.ts';

/** The session policy of a temporary key that has all rights of its parent. */
const UNLIMITED: PolicyDocument = { Version: '2012-10-17', Statement: { Effect: 'Allow', Action: '*', Resource: '*' } };

/** Whether Signature Version 2 is allowed in links and forms (setting `ALLOW_SIGV2`). */
const isSigV2Allowed = (env: Env): boolean => settingsOf(env).ALLOW_SIGV2;

export interface DatedS3Credentials extends S3Credentials {
  /** The generation of identity in the copy that had the credential; null before the first look-up that found one. */
  readonly identity: IdentityGeneration | null;
}

/**
 * Creates the look-ups of credentials that S3 authentication uses.
 * @param source copy of DIRECTORY to read. If it is not the primary, the caller must prove the answers by their generation.
 */
export function createS3Credentials(env: Env, now: number, source: Source): DatedS3Credentials {
  let identity: IdentityGeneration | null = null;
  const lookUp = async <T extends DatedCredential>(
    key: string,
    home: number,
    find: (database: D1Database | D1DatabaseSession) => Promise<T | null>,
  ): Promise<T | null> => {
    const database = findDatabase(env, home);
    const row = database && (await findIn(source, database, key, find));
    // A cached row may have expired since it was read.
    if (row === null || (row.expiresAt !== null && row.expiresAt <= now)) return null;
    identity = { home, generation: row.generation };
    return row;
  };
  const lookUpKey = (accessKeyId: string) =>
    lookUp(`access-key ${accessKeyId}`, homeOfAccessKey(accessKeyId), async (database) => {
      const row = await findAccessKey(database, accessKeyId, now);
      return row && { ...row, openOnce: createOpener(row, accessKeyId, env) };
    });
  return {
    allowsSigV2: isSigV2Allowed(env),
    get identity() {
      return identity;
    },

    async findAccessKey(accessKeyId) {
      const row = await lookUpKey(accessKeyId);
      if (row === null) return null;
      return { secret: row.openOnce(), principal: toUser(row, 'access_key', null) };
    },

    async findTemporaryKey(accessKeyId, sessionToken) {
      const opened = openTemporaryKey(accessKeyId, sessionToken, env);
      if (!opened.ok) return opened;
      const { parentKeyId, secretAccessKey, madeAt, expiresAt, policy } = opened.value;
      if (expiresAt <= now) return err('expired');
      const row = await lookUpKey(parentKeyId);
      if (row === null || madeAt <= (row.temporaryEnded ?? 0)) return err('invalid');
      const principal = { ...toUser(row, 'access_key', null), expiresAt, sessionPolicy: policy ?? UNLIMITED };
      return ok({ secret: new SecretAccessKey(secretAccessKey), principal });
    },

    /**
     * Finds the user of a token with a scope of objects. Root and service tokens are not S3 identities; mail sessions are valid
     * for mail only.
     */
    async findBearer(token): Promise<UserPrincipal | null> {
      if (!token.startsWith('tok_')) return null;
      const hash = hashToken(token);
      const row = await lookUp(hash, homeOfSecret(token), (database) => findToken(database, hash, now));
      if (row === null || row.userId === null) return null;
      const scopes = row.scopes as Scope[];
      return scopes.some(opensObjects) ? toUser(row, 'token', scopes) : null;
    },
  };
}

/**
 * Creates a function that opens the secret of an access key when it is first called. The function is cached with the row, so the
 * secret and its signing key are used as long as the row, and no longer.
 */
function createOpener(row: DatedAccessKey, accessKeyId: string, keys: MasterKeys): () => SecretAccessKey {
  let secret: SecretAccessKey | null = null;
  return () => {
    if (secret !== null) return secret;
    const opened = openSecret(row.secretSealed, `access-key:${accessKeyId}`, keys);
    // If a stored secret cannot be opened, the cause is the deployment (a lost MASTER_KEY), never the caller.
    if (!opened.ok) throw new Error(`the secret of access key ${accessKeyId} cannot be unsealed: ${opened.error.kind}`);
    secret = new SecretAccessKey(opened.value);
    return secret;
  };
}

/** A user as an ACL can name it. */
export interface S3User {
  readonly userId: string;
  readonly name: string;
}

export const findS3User = async (env: Env, userId: string): Promise<S3User | null> =>
  isPossibleUserId(env, userId) ? findUserById(env, userId) : null;

/** @returns the users with this email address: one or none, because addresses are unique. */
export async function findS3UsersByEmail(env: Env, email: string): Promise<readonly S3User[]> {
  const user = await findUserByEmail(env, email);
  return user === null ? [] : [user];
}
