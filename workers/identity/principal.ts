/** Who is calling. An absent credential is `null` where a `Principal | null` is asked for; a wrong one is an error, never null. */

export const SCOPES = ['scores:write', 'objects:read', 'objects:write', 'mail', 'inbound', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** An AWS-style policy document as it was stored; `domain/policy.ts` reads it. */
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
  /** Unique and immutable: what `aws:username` means. */
  readonly userName: string;
  /** For display: not unique, and the user changes it freely. */
  readonly name: string;
  readonly email: string | null;
  readonly via: 'access_key' | 'token' | 'session';
  /** The access key id, token id or session id that was shown. */
  readonly credentialId: string;
  /** When the credential ends by itself; null for never. */
  readonly expiresAt: number | null;
  /** What a token was narrowed to; null for an access key or a session's own rights. */
  readonly scopes: readonly Scope[] | null;
  /** The user's own identity policies. */
  readonly policies: readonly PolicyDocument[];
}

export type Principal = RootPrincipal | ServicePrincipal | UserPrincipal;

/** Root or an `admin` token: the operator of the contract's tables. */
export const isOperator = (principal: Principal | null): boolean =>
  principal?.kind === 'root' ||
  (principal !== null && 'scopes' in principal && (principal.scopes?.includes('admin') ?? false));
