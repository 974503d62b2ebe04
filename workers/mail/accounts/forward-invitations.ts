/** Limits how many accounts may mail a forwarding code to one address. The limits per account are in the account's mailbox. */
import { createHash } from 'node:crypto';
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { newestDatabaseOf } from '../../shared/stores/directories.ts';
import { toMailProblem } from '../schemas/errors.ts';
import { createForwardInvitationStore } from '../store/forward-invitation-store.ts';

const ACCOUNTS_PER_TARGET_MAX = 5;
const WINDOW_MS = 24 * 3_600_000;

/**
 * Records that an account invites an address. Counts accounts, not invitations, so an account that its own limits refuse cannot use
 * up the limit of others.
 * @param email address of the forward target, in lower case.
 * @returns 429 if five other accounts invited the address within a day.
 */
export async function admitForwardInvitation(
  env: Env,
  email: string,
  userId: string,
  now: number,
): Promise<Result<null, Problem>> {
  // Ignores the tag of an address (RFC 5233): `ann+1` and `ann+2` are usually one mailbox.
  const target = email.replace(/\+[^@]*@/, '@');
  const emailSha256 = createHash('sha256').update(target).digest('hex');
  const invitation = { emailSha256, userId, endsAt: now + WINDOW_MS };
  const store = createForwardInvitationStore(newestDatabaseOf(env, target));
  const refused = await store.insertInvitation(invitation, ACCOUNTS_PER_TARGET_MAX, now);
  return refused === null
    ? ok(null)
    : err(toMailProblem({ kind: 'rate_limited', retryAfterMs: refused.retryAt - now }));
}
