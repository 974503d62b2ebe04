/**
 * Data and credentials of users that products keep. Identity does not know the products; `workers/index.ts` registers one
 * obligation each.
 */

/** Which credentials of a user end: one (`only`), all others (`except`), or all. */
export interface EndedCredentials {
  readonly only?: string;
  readonly except?: string;
  /** Ends credentials of this kind only. */
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
  /** Null before the first use. Precise to an hour. */
  readonly lastUsedAt: number | null;
  readonly confirmedUntil: number | null;
}

/** A product's part in what happens to users. Each method can be repeated. */
export interface UserObligation {
  /** @returns why the user cannot be deleted now, or null. */
  findObstacle(userId: string, env: Env): Promise<string | null>;
  /** Erases the product's data of the user. */
  erase(userId: string, env: Env): Promise<void>;
  /** Ends credentials that the product keeps, and closes connections that were opened with them. @throws if it cannot. */
  endCredentials?(userId: string, which: EndedCredentials, env: Env): Promise<void>;
  /**
   * Stops every credential that the product keeps, and closes all connections. @param at null lifts the suspension. @throws if it
   * cannot.
   */
  setSuspended?(userId: string, at: number | null, env: Env): Promise<void>;
  /** Finds a credential that the product keeps. */
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
 * Ends credentials of a user together with a change in DIRECTORY. They end before the change, so that nothing changes if the
 * mailbox cannot be reached, and again after it, because others may have been created meanwhile.
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
 * @returns null for an unknown, ended or expired credential, and while the user is suspended. @throws if the product's store does
 * not answer.
 */
export type FindKept = (userId: string, secretSha256: string, env: Env) => Promise<KeptCredential | null>;

export const findKeptCredential: FindKept = async (userId, secretSha256, env) => {
  for (const obligation of obligations) {
    const found = await obligation.findCredential?.(userId, secretSha256, env);
    if (found) return found;
  }
  return null;
};
