/**
 * Sends the automatic mail of a mailbox: forwards, vacation replies, forwarding codes. Each is a row in the mailbox until its mail
 * is in the outbox. If that is interrupted, the mail may be sent twice, but is never lost.
 *
 * A forward keeps its bytes, so the author's DKIM signature stays valid. Two header fields are added in front: a trace field, which
 * servers count (RFC 5321 §4.4), and the name of the forwarding mailbox. The return path is ours (`domain/return-path.ts`), so SPF
 * passes at the next server and failure reports go to the user.
 */
import type { AutomaticSend } from '../../../durable-objects/mail/contract/outbox.ts';

import { findUserById } from '../../identity/index.ts';
import { refuseIfAnyLost } from '../../shared/collectors/owner-store.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { databaseNumberOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { readTransportSettings } from '../bindings/transport-settings.ts';
import type { Authentication } from '../checks/verdicts.ts';
import { composeAutomatic, toMailDate } from '../domain/automatic-message.ts';
import { FORWARDED_BY } from '../domain/filter-rule.ts';
import { parseMailPath } from '../domain/mail-path.ts';
import { toReturnPath } from '../domain/return-path.ts';
import { readReturnPathSigners } from '../domains/return-path-keys.ts';
import { createAccountStore } from '../store/account-store.ts';
import { enqueueMessage, enqueueStored } from './enqueue-message.ts';

/**
 * Resolves once the message is in the outbox, or if it can never be sent because its message or account is gone.
 * @throws MisconfiguredError if the database that has the account was lost.
 */
export async function sendAutomatic(env: Env, userId: string, send: AutomaticSend): Promise<void> {
  const account = await createAccountStore(userDatabaseOf(env, userId)).findAccount(userId);
  if (!account) return refuseIfAnyLost(env, [databaseNumberOf(userId)]);
  switch (send.kind) {
    case 'forward':
      return sendForward(env, userId, account.email, send);
    case 'vacation':
      return sendVacationReply(env, userId, account.email, send);
    case 'confirm':
      return sendCode(env, userId, account.email, send);
    case 'end':
  }
}

async function sendForward(env: Env, userId: string, own: string, send: AutomaticSend): Promise<void> {
  const message = await openMailbox(env, userId).readMessage(send.messageId);
  if (!message.ok || message.value.rawKey === null) return;
  const [sign] = readReturnPathSigners(env);
  const owner = parseMailPath(own);
  if (!sign || !owner) throw new Error('the return path is too long');
  const from = toReturnPath(owner, send.envelopeFrom, createClock(env)(), sign);
  await enqueueStored(env, userId, message.value.rawKey, {
    kind: 'forward',
    prefix: Buffer.from(`${toTrace(env, send.messageId, message.value.receivedAt)}${FORWARDED_BY}: ${userId}\r\n`),
    from,
    to: send.recipient,
    isSigned: isVouchedFor(JSON.parse(message.value.authentication ?? 'null') as Partial<Authentication> | null),
  });
}

/**
 * Whether we may sign a forward: the message was authenticated when it arrived. Otherwise, our signature would let a forged message
 * that claims our domain pass DMARC.
 */
const isVouchedFor = (authentication: Partial<Authentication> | null): boolean =>
  authentication?.submitted === true ||
  authentication?.dmarc?.result === 'pass' ||
  authentication?.dkim?.some(({ result, aligned }) => result === 'pass' && aligned) === true;

async function sendVacationReply(env: Env, userId: string, own: string, send: AutomaticSend): Promise<void> {
  const mailbox = openMailbox(env, userId);
  const [message, profile, user] = await Promise.all([
    mailbox.readMessage(send.messageId),
    mailbox.readProfile(),
    findUserById(env, userId),
  ]);
  if (!message.ok || !profile.ok || !profile.value.settings.vacation) return;
  const { subject, body } = profile.value.settings.vacation;
  const raw = composeAutomatic({
    ...describe(env, own, user?.name ?? ''),
    to: send.recipient,
    subject: subject === '' ? `Auto: ${message.value.subject}` : subject,
    text: body,
    inReplyTo: message.value.headerMessageId,
    references: message.value.references,
    autoSubmitted: 'auto-replied',
  });
  // The vacation reply has the null sender, so that it is not answered automatically (RFC 3834 §3.3).
  await enqueueMessage(env, userId, { kind: 'vacation', raw: Buffer.from(raw), from: '', to: send.recipient });
}

async function sendCode(env: Env, userId: string, own: string, send: AutomaticSend): Promise<void> {
  const raw = composeAutomatic({
    ...describe(env, own, own),
    to: send.recipient,
    subject: `${own} asks to forward mail to you`,
    text: `${own} wants to forward a copy of their mail to this address.\n\nDo you agree? Then give them this code: ${send.messageId}\n\nIf you do not know them, do nothing.\n`,
    inReplyTo: null,
    references: [],
    autoSubmitted: 'auto-generated',
  });
  await enqueueMessage(env, userId, { kind: 'automatic', raw: Buffer.from(raw), from: '', to: send.recipient });
}

/** @returns the trace field of a forward. It omits the client and the recipient, which the next server must not learn. */
const toTrace = (env: Env, messageId: string, receivedAt: number): string =>
  `Received: by ${readTransportSettings(env).hostname} (Tessera) with ESMTP id ${messageId};\r\n\t${toMailDate(receivedAt)}\r\n`;

function describe(env: Env, email: string, name: string) {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return { from: { name, email }, messageId: `<${crypto.randomUUID()}@${domain}>`, now: createClock(env)() };
}
