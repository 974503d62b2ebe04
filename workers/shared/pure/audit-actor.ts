/** The actor of an entry in the audit log. */
export const ACTOR_KINDS = ['root', 'token', 'operator', 'user', 'system'] as const;

export interface AuditActor {
  readonly kind: (typeof ACTOR_KINDS)[number];
  /** Id of the actor: `root` or `system`, or the id of the token, operator or user. */
  readonly id: string;
}
