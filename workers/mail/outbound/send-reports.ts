/**
 * Reports failed or delayed mail to its sender (RFC 3464). A sender here gets the report in the Inbox, under a fixed delivery key,
 * so a repetition adds nothing. A sender elsewhere, whose mail was forwarded, gets it by mail.
 */
import type { DueReport } from '../../../durable-objects/mail/contract/outbox.ts';

import { logInfo } from '../../shared/telemetry/log.ts';
import { getBlob } from '../bindings/blobs.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { readTransportSettings } from '../bindings/transport-settings.ts';
import { openBytes } from '../checks/opened-message.ts';
import { composeReport, toStatus } from '../domain/delivery-report.ts';
import { parseMailPath } from '../domain/mail-path.ts';
import { toDaemonAddress } from '../domain/return-path.ts';
import { deliverRaw } from '../inbound/process/delivery.ts';
import { parseEnhancedStatus } from '../smtp/smtp-reply.ts';
import { findRecipient } from '../store/recipient-store.ts';
import { enqueueMessage } from './enqueue-message.ts';

const REPORTS_PER_ROUND = 50;
const HEADER_BYTES_MAX = 64 * 1024;

export async function sendReports(env: Env, userId: string): Promise<void> {
  const mailbox = openMailbox(env, userId);
  const due = await mailbox.listDueReports(REPORTS_PER_ROUND);
  if (!due.ok) return;
  for (const report of due.value) {
    // A message from the null sender, such as a report, gets no report itself.
    if (report.envelopeFrom !== '') await sendReport(env, report);
    await mailbox.finishReport(report);
  }
}

async function sendReport(env: Env, report: DueReport): Promise<void> {
  const { hostname, retry } = readTransportSettings(env);
  const domain = parseMailPath(report.envelopeFrom)?.domain ?? hostname;
  const sender = report.envelopeFrom.toLowerCase();
  const own = await findRecipient(env, [sender, sender.replace(/\+[^@]*@/, '@')]);
  const isOwn = own?.userId === report.userId;
  // Id and time come from the mailbox, so a repeated report has the same bytes, and the mailbox stores it only once.
  const { reportId: id, attemptedAt: now } = report;
  const raw = composeReport({
    action: report.action,
    reportingHost: hostname,
    // A report to another server is mail, whose delivery events find the mailbox by the user id.
    from: isOwn ? `mailer-daemon@${domain}` : toDaemonAddress(report.userId, domain),
    to: report.envelopeFrom,
    messageId: `<${id}@${hostname}>`,
    now,
    queuedAt: report.queuedAt,
    givesUpAt: report.queuedAt + retry.expiresAfterMs,
    originalHeader: await readHeader(env, report.rawKey),
    originalMessageId: report.headerMessageId,
    boundary: `report-${id}`,
    recipients: report.recipients.map((recipient) => ({
      email: recipient.email,
      status: toStatus(recipient.code, parseEnhancedStatus(recipient.reply), recipient.isExpired, report.action),
      reply: recipient.reply,
      isRemote: recipient.code !== null,
      isUncertain: recipient.isUncertain,
    })),
  });
  if (isOwn) await putIntoInbox(env, report, Buffer.from(raw), now);
  else
    await enqueueMessage(env, report.userId, {
      outboxId: report.reportId,
      kind: 'report',
      raw: Buffer.from(raw),
      from: '',
      to: report.envelopeFrom,
    });
  logInfo('report_sent', { outbox_id: report.outboxId, action: report.action, recipients: report.recipients.length });
}

async function putIntoInbox(env: Env, report: DueReport, raw: Uint8Array, now: number): Promise<void> {
  const stored = await deliverRaw(env, {
    userId: report.userId,
    message: openBytes(raw),
    deliveryKey: `report:${report.reportId}`,
    receivedAt: now,
    origin: 'received',
    folder: 'inbox',
    isRead: false,
    isFlagged: false,
    labels: [],
    envelopeFrom: '',
    envelopeTo: report.envelopeFrom,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: false,
  });
  if (!stored.ok && stored.error.kind !== 'no_mailbox')
    throw new Error(`the report was not stored: ${stored.error.kind}`);
}

/**
 * @returns the header of the reported message; empty if its stored bytes are missing. The report is then sent without the header.
 */
async function readHeader(env: Env, rawKey: string): Promise<string> {
  const stored = await getBlob(env, rawKey, { offset: 0, length: HEADER_BYTES_MAX });
  if (!stored) return '';
  const text = Buffer.from(await stored.arrayBuffer()).toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  return end === -1 ? text : text.slice(0, end + 2);
}
