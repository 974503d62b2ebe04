/** The authenticated caller. Without a credential it is null. An invalid credential is an error, never null. */

export const SCOPES = ['scores:write', 'objects:read', 'objects:write', 'mail', 'inbound', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** An AWS-style policy document as stored. `domain/policy.ts` parses it. */
export type PolicyDocument = Readonly<Record<string, unknown>>;

export interface RootPrincipal {
  readonly kind: 'root';
}

/** A token that belongs to no user: a game server, an SMTP gateway, an operator's dashboard. */
export interface ServicePrincipal {
  readonly kind: 'service';
  readonly tokenId: string;
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
  /** Scopes of a token; null for an access key or a session, which have all rights of the user. */
  readonly scopes: readonly Scope[] | null;
  /** The user's own identity policies. */
  readonly policies: readonly PolicyDocument[];
}

export type Principal = RootPrincipal | ServicePrincipal | UserPrincipal;

/** Whether the caller is an operator: root or an `admin` token. */
export const isOperator = (principal: Principal | null): boolean =>
  principal?.kind === 'root' ||
  (principal !== null && 'scopes' in principal && (principal.scopes?.includes('admin') ?? false));
