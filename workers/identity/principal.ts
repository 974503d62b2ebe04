/**
 * The authenticated caller of a request. Without a credential the caller is null. An invalid credential is an error, never null.
 */
import type { OperatorRole } from './domain/operator-roles.ts';
import type { PolicyDocument } from './domain/policy.ts';

export type { PolicyDocument } from './domain/policy.ts';

/** Scopes of the token of an agent. They open `/v1/mcp` and nothing else. */
export const AGENT_SCOPES = ['mail:read', 'mail:draft', 'mail:send', 'mail:codes'] as const;
export type AgentScope = (typeof AGENT_SCOPES)[number];
export const isAgentScope = (scope: string): scope is AgentScope => AGENT_SCOPES.some((each) => each === scope);

export const SCOPES = [
  'scores:write',
  'boards:create',
  'objects:read',
  'objects:write',
  'mail',
  ...AGENT_SCOPES,
  'inbound',
  'bridge',
  'admin',
] as const;
/** Form of the scopes of one board: reading it although it is not public, and posting its scores. */
export const BOARD_SCOPE = /^board:[a-z0-9-]{1,32}:(?:read|write)$/;
/** Form of the scopes of one bucket, for a token of a user. */
export const BUCKET_SCOPE = /^bucket:[a-z0-9.-]{3,63}:(?:read|write)$/;
export type Scope = (typeof SCOPES)[number] | `${'board' | 'bucket'}:${string}:${'read' | 'write'}`;

/** Whether a scope opens object storage, whole or one bucket. Such a token belongs to a user. */
export const opensObjects = (scope: string): boolean => scope.startsWith('objects:') || BUCKET_SCOPE.test(scope);

export interface RootPrincipal {
  readonly kind: 'root';
}

/** The caller with a token that belongs to no user, such as that of a game server, an SMTP gateway or an operator's dashboard. */
export interface ServicePrincipal {
  readonly kind: 'service';
  readonly tokenId: string;
  /** Time of the last use of the token, precise to an hour; null before the first use. */
  readonly lastUsedAt: number | null;
  readonly scopes: readonly Scope[];
}

export interface UserPrincipal {
  readonly kind: 'user';
  readonly userId: string;
  /** Unique, immutable name of the user, and the value of `aws:username`. */
  readonly userName: string;
  /** Display name of the user. Not unique; the user may change it. */
  readonly name: string;
  readonly email: string | null;
  readonly via: 'access_key' | 'token' | 'session';
  /** Id of the credential: an access key id, token id or session id. */
  readonly credentialId: string;
  /** Time at which the credential expires, in milliseconds since 1970 UTC; null for never. */
  readonly expiresAt: number | null;
  /** Time of the credential's last use, precise to an hour; null before the first use. */
  readonly lastUsedAt: number | null;
  /** Time until which the session may do sensitive actions without the password; null for other credentials. */
  readonly confirmedUntil: number | null;
  /** Scopes of a token; null for an access key or a session, which have all rights of the user. */
  readonly scopes: readonly Scope[] | null;
  /** Identity policies of the user. A session or an app token has none, because it opens only the mailbox. */
  readonly policies: readonly PolicyDocument[];
  /** Session policy of a temporary key: without its Allow nothing is allowed. Null for every other credential. */
  readonly sessionPolicy: PolicyDocument | null;
}

/** An operator as a person, authenticated by a session. */
export interface OperatorPrincipal {
  readonly kind: 'operator';
  readonly operatorId: string;
  readonly role: OperatorRole;
  readonly sessionId: string;
}

export type Principal = RootPrincipal | OperatorPrincipal | ServicePrincipal | UserPrincipal;

/** Whether the caller is an operator: root, a person, or an `admin` token. The role of a person limits what it may do. */
export const isOperator = (principal: Principal | null): boolean =>
  principal?.kind === 'root' ||
  principal?.kind === 'operator' ||
  (principal !== null && 'scopes' in principal && (principal.scopes?.includes('admin') ?? false));
