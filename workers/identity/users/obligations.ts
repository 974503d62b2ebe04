/**
 * Registers what products do for identity: they keep data and credentials of users. Identity does not know the products;
 * `workers/index.ts` registers one obligation for each.
 */

/** Selects the credentials of a user that end: one (`only`), all others (`except`), or all. */
export interface EndedCredentials {
  readonly only?: string;
  readonly except?: string;
  /** Ends only credentials of this kind; default: of both kinds. */
  readonly kind?: 'session' | 'token';
}

/** A session or an app token, which the mailbox of its user keeps. */
export interface KeptCredential {
  readonly credentialId: string;
  readonly kind: 'session' | 'token';
  readonly userName: string;
  readonly name: string;
  readonly email: string | null;
  readonly expiresAt: number | null;
  /** Time of the credential's last use, precise to an hour; null before the first use. */
  readonly lastUsedAt: number | null;
  readonly confirmedUntil: number | null;
}

/** Duties of a product when a user is deleted or suspended, or a credential ends. Each method can be repeated. */
export interface UserObligation {
  /** @returns the reason why the user cannot be deleted now, or null. */
  findObstacle(userId: string, env: Env): Promise<string | null>;
  /** Erases all data that the product has of the user. */
  erase(userId: string, env: Env): Promise<void>;
  /**
   * Ends credentials that the product keeps, and closes connections that were opened with them. @throws if the product's store
   * cannot be reached.
   */
  endCredentials?(userId: string, which: EndedCredentials, env: Env): Promise<void>;
  /**
   * Suspends every credential that the product keeps of a user, and closes all connections of the user.
   * @param at time of the suspension; null lifts it.
   * @throws if the product's store cannot be reached.
   */
  setSuspended?(userId: string, at: number | null, env: Env): Promise<void>;
  /** Finds a credential by its hash, if the product keeps it. */
  findCredential?: FindKept;
}

export const obligations: UserObligation[] = [];

export function registerUserObligation(obligation: UserObligation): void {
  obligations.push(obligation);
}

export async function endCredentials(userId: string, which: EndedCredentials, env: Env): Promise<void> {
  for (const obligation of obligations) await obligation.endCredentials?.(userId, which, env);
}

/**
 * Ends credentials of a user together with a change in DIRECTORY. They are ended before the change, so that nothing changes if the
 * mailbox cannot be reached. They are ended again after it, because further ones may have been created meanwhile.
 */
export async function endingCredentials<T>(
  env: Env,
  userId: string,
  which: EndedCredentials,
  change: () => Promise<T>,
): Promise<T> {
  await endCredentials(userId, which, env);
  const changed = await change();
  await endCredentials(userId, which, env);
  return changed;
}

export async function setSuspended(userId: string, at: number | null, env: Env): Promise<void> {
  for (const obligation of obligations) await obligation.setSuspended?.(userId, at, env);
}

/**
 * Finds a credential that a product keeps.
 * @returns null for an unknown, ended or expired credential, and while the user is suspended.
 * @throws if the product's store does not answer.
 */
export type FindKept = (userId: string, secretSha256: string, env: Env) => Promise<KeptCredential | null>;

export const findKeptCredential: FindKept = async (userId, secretSha256, env) => {
  for (const obligation of obligations) {
    const found = await obligation.findCredential?.(userId, secretSha256, env);
    if (found) return found;
  }
  return null;
};
