/** Finds callers again for work that outlives the request in which they started it. */

import { databaseNumberOf } from '../../shared/stores/directories.ts';
import type { OperatorRole } from '../domain/operator-roles.ts';
import type { Principal, Scope, UserPrincipal } from '../principal.ts';
import { createOperatorStore } from '../store/operator-store.ts';
import { findAccessKey, findActiveUser, findTokenById } from '../store/store.ts';
import { toTokenPrincipal, toUser } from './authenticate.ts';

/** A credential by its id, as work remembers it. The work ends with the credential. */
export interface CredentialRef {
  readonly kind: 'root' | 'access_key' | 'token' | 'operator_session';
  readonly id: string;
  /** Number of the user database that has the credential's row. */
  readonly home: number;
}

/** @returns the credential of a caller; null for a mail session, with which no such work is started. */
export function toCredentialRef(caller: Principal): CredentialRef | null {
  if (caller.kind === 'root') return { kind: 'root', id: 'root', home: 0 };
  if (caller.kind === 'operator') return { kind: 'operator_session', id: caller.sessionId, home: 0 };
  if (caller.kind === 'service') return { kind: 'token', id: caller.tokenId, home: databaseNumberOf('') };
  const { via, credentialId, userId } = caller;
  return via === 'session' ? null : { kind: via, id: credentialId, home: databaseNumberOf(userId) };
}

/**
 * Finds the caller to whom a credential belongs, with its present rights.
 * @param directory user database with the number `home`. @param now milliseconds since 1970 UTC.
 * @returns null if the credential was revoked or has expired, or if its user is suspended or gone.
 */
export async function findByCredential(
  directory: D1Database,
  { kind, id }: CredentialRef,
  now: number,
): Promise<Principal | null> {
  if (kind === 'root') return { kind };
  if (kind === 'access_key') {
    const found = await findAccessKey(directory, id, now);
    return found && toUser(found, 'access_key', null);
  }
  if (kind === 'operator_session') {
    const found = await createOperatorStore(directory).findSessionById(id, now);
    return found && { kind: 'operator', ...found, role: found.role as OperatorRole };
  }
  const found = await findTokenById(directory, id, now);
  return found && toTokenPrincipal(found);
}

/**
 * Reads a user with its present policies, for work that remembers no credential.
 * @param scopes scopes of the token that started the work; null if it was no token. @returns null if the user is suspended or gone.
 */
export async function findActingUser(
  directory: D1Database,
  userId: string,
  scopes: readonly string[] | null,
): Promise<UserPrincipal | null> {
  const row = await findActiveUser(directory, userId);
  return row && toUser(row, scopes === null ? 'access_key' : 'token', scopes as readonly Scope[] | null);
}
