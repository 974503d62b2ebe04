/**
 * Operators whose role comes from a claim of the provider. Such an operator exists only while the provider gives the role: without it,
 * the operator is deleted with its sessions and the tokens that it made. The id is made from issuer and subject, so the audit log
 * names the same person again after the next sign-in.
 */
import { createHash, randomBytes } from 'node:crypto';
import { toSystemAuditRow } from '../../shared/audit/audit.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { readPairs } from '../../shared/settings/settings-schema-sign-in.ts';
import type { OperatorRole } from '../domain/operator-roles.ts';
import { toOperatorRole } from '../domain/provider-claims.ts';
import { createOperatorSeed } from '../operators/operators.ts';
import { hashPassword } from '../secrets/passwords.ts';
import { createOperatorStore, type OperatorRow } from '../store/operator-store.ts';
import { createSignInStore } from '../store/sign-in-store.ts';
import { endTokensMadeBy } from '../users/user-tokens.ts';
import type { Proof } from './proof.ts';
import { bindSignIn, recordSignIn } from './sign-ins.ts';

const NO_ROLE = problem(403, 'no_role', 'The provider names no role of an operator for this account.');
const LOGIN_LENGTH_MAX = 128;

/** Id of an operator from a claim: a UUID of version 8 (RFC 9562 §5.8). */
function toOperatorId({ issuer, subject }: Pick<Proof, 'issuer' | 'subject'>): string {
  const hex = createHash('sha256').update(`operator\n${issuer}\n${subject}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export const roleOf = (env: Env, groups: readonly string[]): OperatorRole | null =>
  toOperatorRole(groups, readPairs(settingsOf(env).OIDC_ROLES));

const toAudit = (
  action: 'operator.create' | 'operator.update' | 'operator.delete',
  id: string,
  now: number,
  details: { readonly role?: string } = {},
) => toSystemAuditRow({ at: now, id: crypto.randomUUID(), action, target: { type: 'operator', id }, details });

/** Finds the operator of a proof, and makes it if there is none. @returns 403 `no_role` if no claim gives a role. */
export async function signInOperator(env: Env, proof: Proof, now: number): Promise<Result<OperatorRow, Problem>> {
  const operatorId = toOperatorId(proof);
  const role = roleOf(env, proof.groups);
  if (role === null) {
    await endProviderOperator(env, proof, now);
    return err(NO_ROLE);
  }
  const store = createOperatorStore(env.DIRECTORY);
  const found = await store.find(operatorId);
  if (found === null) {
    // No password and no code log this operator in: both are random, and nobody sees them.
    const hash = await hashPassword(randomBytes(32).toString('base64url'), 'known');
    if (!hash.ok) return hash;
    const name = (proof.name ?? proof.email ?? proof.subject).slice(0, LOGIN_LENGTH_MAX);
    const row = {
      operatorId,
      login: `provider ${operatorId}`,
      name,
      role,
      passwordHash: hash.value,
      seedSealed: createOperatorSeed(env, operatorId).sealed,
      lastStep: 0,
      createdAt: now,
    };
    await store.insert(row, toAudit('operator.create', operatorId, now, { role }));
    await bindSignIn(env, proof, { kind: 'operator', ownerId: operatorId }, { now, audit: null });
  } else await changeRole(env, found, role, now);
  await recordSignIn(env, 'operator', proof, now);
  const row = await store.find(operatorId);
  return row === null ? err(NO_ROLE) : ok(row);
}

/** Gives an operator another role. A lower role ends the sessions and the tokens that the operator made. */
async function changeRole(env: Env, row: OperatorRow, role: OperatorRole, now: number): Promise<void> {
  if (row.role === role) return;
  const audit = toAudit('operator.update', row.operatorId, now, { role });
  await createOperatorStore(env.DIRECTORY).update(row.operatorId, { role }, null, audit);
  if (role !== 'admin') await endTokensMadeBy(env, row.operatorId);
}

/** Applies the groups of a later check. */
export async function applyGroups(
  env: Env,
  account: Pick<Proof, 'issuer' | 'subject'>,
  groups: readonly string[],
  now: number,
): Promise<void> {
  const role = roleOf(env, groups);
  const row = await createOperatorStore(env.DIRECTORY).find(toOperatorId(account));
  if (role === null || row === null) return endProviderOperator(env, account, now);
  return changeRole(env, row, role, now);
}

/** Deletes the operator of an account of a provider, with its sessions and the tokens that it made. Idempotent. */
export async function endProviderOperator(
  env: Env,
  { issuer, subject }: Pick<Proof, 'issuer' | 'subject'>,
  now: number,
): Promise<void> {
  const operatorId = toOperatorId({ issuer, subject });
  await createOperatorStore(env.DIRECTORY).delete(operatorId, toAudit('operator.delete', operatorId, now));
  await endTokensMadeBy(env, operatorId);
  await createSignInStore(env.DIRECTORY).deleteOf('operator', operatorId);
}
