/** What the claims of a provider say of a person. Pure. */
import type { OperatorRole } from './operator-roles.ts';

/** Claims of a token or of the userinfo endpoint (OpenID Connect Core §5.1). */
export type Claims = Readonly<Record<string, unknown>>;

const VALUES_MAX = 1_000;

/**
 * Reads a claim with groups or roles.
 * @param name name of the claim, or a path with dots, such as `realm_access.roles`. A claim may have dots in its own name.
 * @returns its texts; none if it is absent or of another form.
 */
export function readGroups(claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : readPath(claims, name.split('.'));
  const values = Array.isArray(value) ? value : [value];
  return values.filter((each): each is string => typeof each === 'string' && each !== '').slice(0, VALUES_MAX);
}

const readPath = (claims: unknown, [name, ...rest]: string[]): unknown => {
  if (name === undefined) return claims;
  const isObject = typeof claims === 'object' && claims !== null && Object.hasOwn(claims, name);
  return isObject ? readPath((claims as Claims)[name], rest) : undefined;
};

const RANK = ['read', 'support', 'admin'] as const satisfies readonly OperatorRole[];

/** The highest role that the pairs give to one of the groups; null if none does. */
export function toOperatorRole(
  groups: readonly string[],
  pairs: readonly (readonly [string, string])[],
): OperatorRole | null {
  const roles = pairs.filter(([group]) => groups.includes(group)).map(([, role]) => role);
  return RANK.findLast((role) => roles.includes(role)) ?? null;
}

/** The first right that the pairs give to one of the groups, in the order of the pairs; null if none does. */
export const findRight = (groups: readonly string[], pairs: readonly (readonly [string, string])[]): string | null =>
  pairs.find(([group]) => groups.includes(group))?.[1] ?? null;

export interface NewAccountRule {
  /** Empty: no sign-in makes an account. */
  readonly from: '' | 'verified' | 'issuer';
  /** Value that the claim `hd` must have; empty for any. */
  readonly hostedDomain: string;
}

/**
 * Decides whether a first sign-in may make an account, and with which address. The address never finds an account that exists.
 * @returns null if it may not.
 */
export function toNewAddress(
  claims: { readonly email: string | null; readonly isEmailVerified: boolean; readonly hostedDomain: string | null },
  rule: NewAccountRule,
): string | null {
  if (rule.from === '' || claims.email === null) return null;
  if (rule.from === 'verified' && !claims.isEmailVerified) return null;
  if (rule.hostedDomain !== '' && claims.hostedDomain?.toLowerCase() !== rule.hostedDomain) return null;
  return claims.email;
}
