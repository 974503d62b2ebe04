/**
 * Notices to the owner of an account about security events, sent as mail to the owner's mailbox. A notice never delays the event or
 * makes it fail. At most three notices of a kind are sent per hour, so repeating an event cannot flood the mailbox. Each kind has a
 * count of its own, so one kind cannot suppress another.
 */
import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { admitAction, listRecoveryEmails } from '../../identity/index.ts';
import { readNetwork } from '../../shared/audit/audit.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { composeAutomatic } from '../domain/automatic-message.ts';
import { enqueueMessage } from '../outbound/enqueue-message.ts';
import { type AccountRow, createAccountStore } from '../store/account-store.ts';

const LIMIT = { max: 3, windowMs: 3_600_000 };
const USER_AGENT_LENGTH_MAX = 150;

const NOTICES = {
  login: ['New login', 'A login to your account came from a place that it never came from before.'],
  token: ['New app token', 'An app token was created. A program can read and send your mail with it.'],
  agent_waits: [
    'A message waits for you',
    'An agent wrote a message and asks to send it. Read it in Settings, Agents: only you can send it.',
  ],
  agent: [
    'New connection of an agent',
    'A token for an agent was created. A program can read mail with it, and write drafts.',
  ],
  forward_target: ['New forward target', 'A forward target was confirmed. Filters may now forward mail to it.'],
  address_forward: ['New forward', 'The forwarding of one of your addresses was created or changed.'],
  forward_filter: ['New forward', 'A filter that forwards mail was created or changed.'],
  password: [
    'Password changed',
    'The password of your account was changed. All other sessions ended, and what they made.',
  ],
  password_removed: ['Password removed', 'The password of your account was removed. Passkeys are the only way in.'],
  password_rule: ['Login rule changed', 'Whether your password needs a passkey was changed.'],
  passkey_added: ['New passkey', 'A passkey was added. It logs in without a password.'],
  passkey_removed: ['Passkey removed', 'A passkey was removed.'],
  sign_in_added: [
    'Account connected',
    'An account of the sign-in provider was connected. It logs in without a password.',
  ],
  recovery_address: ['Recovery address changed', 'The recovery address of your account was changed or removed.'],
  recovery_codes: ['New recovery codes', 'The recovery codes of your account were replaced.'],
  second_factor_on: ['Second factor enabled', 'The second factor of your account was enabled.'],
  second_factor_off: ['Second factor disabled', 'The second factor of your account was disabled.'],
} as const satisfies Record<string, readonly [subject: string, event: string]>;
export type SecurityEvent = keyof typeof NOTICES;

/** Sends a notice after the request was answered. If that fails, the failure is only logged. */
export function noticeOwner(c: Context<JsonApiEnv>, userId: string, event: SecurityEvent): void {
  const origin = { headers: c.req.raw.headers, now: createClock(c.env)() };
  c.executionCtx.waitUntil(
    sendNotice(c.env, userId, event, origin).catch((error: unknown) =>
      logError('security_notice_failed', error, { kind: event, request_id: c.get('requestId') }),
    ),
  );
}

async function sendNotice(
  env: Env,
  userId: string,
  event: SecurityEvent,
  { headers, now }: { readonly headers: Headers; readonly now: number },
): Promise<void> {
  const account = await createAccountStore(userDatabaseOf(env, userId)).findAccount(userId);
  if (!account || !(await admitAction(env, `notice ${event}`, userId, LIMIT, now)).ok) return;
  const [subject, what] = NOTICES[event];
  const domain = account.email.slice(account.email.lastIndexOf('@') + 1);
  for (const to of await listRecipients(env, account, now)) {
    const raw = composeAutomatic({
      from: { name: 'Tessera', email: `postmaster@${domain}` },
      to,
      subject: `Security notice: ${subject}`,
      text: toText(what, headers, now),
      messageId: `<${randomUUID()}@${domain}>`,
      inReplyTo: null,
      references: [],
      now,
      autoSubmitted: 'auto-generated',
    });
    await enqueueMessage(env, userId, { kind: 'automatic', raw: Buffer.from(raw), from: '', to });
  }
}

/** Addresses that get the notices: the account's own address, the recovery address, and the former one while it counts. */
const listRecipients = async (env: Env, account: AccountRow, now: number): Promise<readonly string[]> => [
  account.email,
  ...(await listRecoveryEmails(env, account.userId, now)),
];

function toText(what: string, headers: Headers, now: number): string {
  // Replaces all but printable ASCII in the User-Agent by "?", because the client chooses this header.
  const program = (headers.get('user-agent') ?? 'unknown').replace(/[^ -~]/g, '?').slice(0, USER_AGENT_LENGTH_MAX);
  return [
    what,
    '',
    `Time: ${new Date(now).toUTCString()}`,
    `Network: ${readNetwork(headers) ?? 'unknown'}`,
    `Program: ${program}`,
    '',
    'If this was you, do nothing.',
    'If not, change your password now. This ends all other sessions and revokes all app tokens.',
    'Then check your filters, forward targets and second factor.',
    '',
  ].join('\n');
}
