/**
 * Delivery reports from other servers (RFC 3464). Each is matched to a sent message. A late failure corrects the delivery state
 * "sent".
 */
import PostalMime from 'postal-mime';
import { logError } from '../../../shared/telemetry/log.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { readDeliveryStatus } from '../../domain/delivery-report.ts';

/** Number of bytes of a report that are read. A longer report returns the whole message; its relevant parts come before that. */
const REPORT_BYTES_MAX = 1024 * 1024;

export interface IncomingReport {
  readonly originalMessageId: string;
  readonly recipients: readonly {
    readonly email: string;
    readonly state: 'failed' | 'delivered';
    readonly reply: string;
  }[];
}

/** Reads a report. @returns null unless the message is a report about a message with a Message-ID. */
export async function readReport(raw: Uint8Array): Promise<IncomingReport | null> {
  const parsed = await PostalMime.parse(raw.subarray(0, REPORT_BYTES_MAX), {
    attachmentEncoding: 'utf8',
    forceRfc822Attachments: true,
  });
  const contentOf = (types: RegExp) => parsed.attachments.find((part) => types.test(part.mimeType))?.content;
  const status = contentOf(/^message\/delivery-status$/i);
  const original = contentOf(/^(?:text\/rfc822-headers|message\/rfc822)$/i);
  if (typeof status !== 'string') return null;
  const header = typeof original === 'string' ? original : (parsed.text ?? '');
  const originalMessageId =
    /^message-id:\s*(<[^<>\s]+>)/im.exec(header)?.[1] ?? /^x-original-message-id:\s*(<[^<>\s]+>)/im.exec(status)?.[1];
  if (originalMessageId === undefined) return null;
  const recipients = readDeliveryStatus(status).flatMap((report) => {
    if (report.action !== 'failed' && report.action !== 'delivered') return [];
    const reply = `${report.status} ${report.diagnostic || `reported as ${report.action}`}`.trim();
    return [{ email: report.email, state: report.action, reply }];
  });
  return recipients.length === 0 ? null : { originalMessageId, recipients };
}

/**
 * Applies a report to the sent message. The report itself is delivered to the Inbox all the same. An unreadable report changes
 * nothing.
 */
export async function applyIncomingReport(env: Env, userId: string, raw: Uint8Array): Promise<void> {
  try {
    const report = await readReport(raw);
    if (report) await openMailbox(env, userId).applyReport(report.originalMessageId, report.recipients);
  } catch (error) {
    logError('report_apply_failed', error);
  }
}
