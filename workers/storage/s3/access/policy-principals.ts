/**
 * Checks the principals of a bucket policy before it is stored. A statement whose principals do not exist has no effect, so
 * refusing it shows the owner the mistake.
 *
 * Accepted principals are `*`, a user id, `arn:aws:iam::<user id>:root`, `arn:aws:iam::<user id>:user/<user id>` and
 * `arn:aws:iam:::user/<user id>`. This service has no roles, services or federated users.
 */
import type { Users } from '../protocol/operation.ts';

type Json = Readonly<Record<string, unknown>>;

/** Number of users that are looked up in parallel. A policy of 20 KB can name about 500. */
const LOOKUPS_PER_ROUND = 20;

/**
 * Checks the principals of a policy.
 * @param document a policy that `parsePolicy` accepted.
 * @returns the first principal that does not exist, or null if all exist.
 */
export async function findPrincipalFault(document: Json, users: Users): Promise<string | null> {
  const userIds = new Map<string, string>();
  for (const statement of [document.Statement].flat() as Json[]) {
    const value = statement.Principal ?? statement.NotPrincipal;
    if (value === '*') continue;
    const principals = Object.entries(value as Json).flatMap(([type, names]) =>
      [names].flat().map((name) => ({ type, name: String(name) })),
    );
    if (principals.length === 0) return JSON.stringify(value);
    for (const { type, name } of principals) {
      if (type === 'AWS' && name === '*') continue;
      const userId = type === 'AWS' ? toUserId(name) : type === 'CanonicalUser' ? name : null;
      if (userId === null) return name;
      userIds.set(userId, name);
    }
  }
  const named = [...userIds];
  for (let at = 0; at < named.length; at += LOOKUPS_PER_ROUND) {
    const round = named.slice(at, at + LOOKUPS_PER_ROUND);
    const found = await Promise.all(round.map(([userId]) => users.findById(userId)));
    const missing = found.indexOf(null);
    if (missing >= 0) return round[missing]?.[1] ?? '';
  }
  return null;
}

/** @returns the id of the user that a principal names, or null if it names none. */
function toUserId(principal: string): string | null {
  if (!principal.startsWith('arn:')) return principal;
  const arn = /^arn:aws[a-z-]*:iam::([^:]*):(?:root|user\/(?:.*\/)?([^/]+))$/.exec(principal);
  const [account, user] = [arn?.[1] ?? '', arn?.[2]];
  if (account === '') return user ?? null;
  return user === undefined || user === account ? account : null;
}
