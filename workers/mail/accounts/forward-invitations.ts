/** Limits how many accounts may mail a forwarding code to one address. Limits per account are in its mailbox. */
import { createHash } from 'node:crypto';
import type { Problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { toMailProblem } from '../schemas/errors.ts';
import { createForwardInvitationStore } from '../store/forward-invitation-store.ts';

const ACCOUNTS_PER_TARGET_MAX = 5;
const WINDOW_MS = 24 * 3_600_000;

/**
 * Counts accounts, not invitations: an account that its own limits refuse cannot use up the limit of others.
 * @param email of the target, in lower case.
 * @returns 429 when five other accounts invited it within a day.
 */
export async function admitForwardInvitation(
  env: Env,
  email: string,
  userId: string,
  now: number,
): Promise<Result<null, Problem>> {
  // RFC 5233: `ann+1` and `ann+2` are usually one mailbox.
  const target = email.replace(/\+[^@]*@/, '@');
  const emailSha256 = createHash('sha256').update(target).digest('hex');
  const invitation = { emailSha256, userId, endsAt: now + WINDOW_MS };
  const store = createForwardInvitationStore(env.DIRECTORY);
  const refused = await store.insertInvitation(invitation, ACCOUNTS_PER_TARGET_MAX, now);
  return refused === null
    ? ok(null)
    : err(toMailProblem({ kind: 'rate_limited', retryAfterMs: refused.retryAt - now }));
}
