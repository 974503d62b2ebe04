/** The profile of an account: facts of the identity user, the addresses and the mailbox in one document. */
import { createLoginStore, findUserById, readPasswordRule, readRecoveryAddress } from '../../identity/index.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { readLimits } from '../bindings/account-limits.ts';
import { readBridge } from '../bindings/bridge.ts';
import { readOutsideFileBytes } from '../outbound/submission/size-of-way.ts';
import type { Profile } from '../schemas/account.ts';
import { createAccountStore } from '../store/account-store.ts';
import { listSenders } from '../store/address-store.ts';
import { callMailbox, toTime } from './route.ts';

/** @returns the profile; 404 for a user without a mailbox, 503 when the mailbox cannot be reached. */
export async function readProfile(env: Env, userId: string): Promise<Result<Profile, Problem>> {
  const directory = userDatabaseOf(env, userId);
  const [account, user, addresses, factor, recovery, passwordRule, mailbox] = await Promise.all([
    createAccountStore(directory).findAccount(userId),
    findUserById(env, userId),
    listSenders(env, userId),
    createLoginStore(directory).findSecondFactor(userId),
    readRecoveryAddress(env, userId, createClock(env)()),
    readPasswordRule(directory, userId),
    callMailbox(env, userId, (box) => box.readProfile()),
  ]);
  if (!account || !user) return err(problem(404, 'no_mailbox', 'This user has no mailbox.'));
  if (!mailbox.ok) return mailbox;
  const { attachmentBytes } = readLimits(env, account.accountType);
  const outsideFileBytes = await readOutsideFileBytes(env, account.email);
  return ok({
    user_id: userId,
    email: account.email,
    name: user.name,
    account_type: account.accountType === 'business' ? 'business' : 'personal',
    quota: { used_bytes: mailbox.value.usedBytes, limit_bytes: mailbox.value.limitBytes },
    attachment_limit_bytes: attachmentBytes,
    outside_attachment_limit_bytes: Math.min(attachmentBytes, outsideFileBytes ?? attachmentBytes),
    signature: mailbox.value.settings.signature,
    addresses,
    totp_enabled: (factor?.confirmedAt ?? null) !== null,
    recovery_codes_left: factor?.recoverySha256.length ?? 0,
    recovery_address: recovery.email,
    has_password: passwordRule.hasPassword,
    password_needs_passkey: passwordRule.needsPasskey,
    security_review: passwordRule.hasReview,
    mail_programs: readBridge(env),
    state: mailbox.value.state,
    created_at: toTime(account.createdAt),
  });
}
