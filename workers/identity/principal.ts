/** The authenticated caller. Without a credential it is null. An invalid credential is an error, never null. */
import type { OperatorRole } from './domain/operator-roles.ts';

export const SCOPES = ['scores:write', 'objects:read', 'objects:write', 'mail', 'inbound', 'admin'] as const;
/** Reads a board that is not public. */
export const BOARD_SCOPE = /^board:[a-z0-9-]{1,32}:read$/;
export type Scope = (typeof SCOPES)[number] | `board:${string}:read`;

/** An AWS-style policy document as stored. `domain/policy.ts` parses it. */
export type PolicyDocument = Readonly<Record<string, unknown>>;

export interface RootPrincipal {
  readonly kind: 'root';
}

/** A token that belongs to no user: a game server, an SMTP gateway, an operator's dashboard. */
export interface ServicePrincipal {
  readonly kind: 'service';
  readonly tokenId: string;
  /** Null before the first use. Precise to an hour. */
  readonly lastUsedAt: number | null;
  readonly scopes: readonly Scope[];
}

export interface UserPrincipal {
  readonly kind: 'user';
  readonly userId: string;
  /** Unique and immutable. The value of `aws:username`. */
  readonly userName: string;
  /** For display. Not unique; the user may change it. */
  readonly name: string;
  readonly email: string | null;
  readonly via: 'access_key' | 'token' | 'session';
  /** The access key id, token id or session id of the credential. */
  readonly credentialId: string;
  /** When the credential expires, in milliseconds since 1970 UTC; null for never. */
  readonly expiresAt: number | null;
  /** Null before the first use. Precise to an hour. */
  readonly lastUsedAt: number | null;
  /** The time until which a session may do sensitive actions without the password; null for other credentials. */
  readonly confirmedUntil: number | null;
  /** Scopes of a token; null for an access key or a session, which have all rights of the user. */
  readonly scopes: readonly Scope[] | null;
  /** The user's own identity policies; none for a session or an app token, which open only the mailbox. */
  readonly policies: readonly PolicyDocument[];
}

/** A person who operates the service, by a session. */
export interface OperatorPrincipal {
  readonly kind: 'operator';
  readonly operatorId: string;
  readonly role: OperatorRole;
  readonly sessionId: string;
}

export type Principal = RootPrincipal | OperatorPrincipal | ServicePrincipal | UserPrincipal;

/** Whether the caller is an operator: root, a person, or an `admin` token. What a person may do depends on the role. */
export const isOperator = (principal: Principal | null): boolean =>
  principal?.kind === 'root' ||
  principal?.kind === 'operator' ||
  (principal !== null && 'scopes' in principal && (principal.scopes?.includes('admin') ?? false));
