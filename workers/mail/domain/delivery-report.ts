/**
 * Delivery status reports (RFC 3464, RFC 6522). Composes reports about failed or delayed mail, and parses reports from other
 * servers. Pure.
 *
 * By design: a report returns the header of the message, not its body. It goes to the envelope sender. Its own sender is the null
 * sender, so that no report answers it (RFC 5321 §4.5.5).
 */
import { toMailDate } from './automatic-message.ts';

export type ReportAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';

export interface ReportedRecipient {
  readonly email: string;
  /** Enhanced status code of the failure or delay, such as 5.1.1. */
  readonly status: string;
  /** Reply of the other server, or our own text if there was none. */
  readonly reply: string;
  /** True if another server wrote `reply`; false for our own text. */
  readonly isRemote: boolean;
  /** True if an attempt had an unknown outcome, so that the message may have arrived. */
  readonly isUncertain: boolean;
}

export interface Report {
  readonly action: 'failed' | 'delayed';
  /** Our host name, the same as in EHLO. */
  readonly reportingHost: string;
  readonly from: string;
  readonly to: string;
  readonly messageId: string;
  readonly now: number;
  readonly queuedAt: number;
  /** Time of the last attempt, after which the message fails. For reports about a delay. */
  readonly givesUpAt: number;
  readonly recipients: readonly ReportedRecipient[];
  /** Header of the reported message, with its line ends. */
  readonly originalHeader: string;
  readonly originalMessageId: string | null;
  /** MIME boundary of the report. None of its texts contains it. */
  readonly boundary: string;
}

const RETURNED_HEADER_MAX = 32 * 1024;

/** Composes a report. @returns the whole message in 7 bits, with CRLF line ends. */
export function composeReport(report: Report): string {
  const isFailure = report.action === 'failed';
  const subject = isFailure ? 'Undelivered mail returned to sender' : 'Delivery of your message is delayed';
  const { boundary } = report;
  const references = report.originalMessageId === null ? [] : [`In-Reply-To: ${toAscii(report.originalMessageId)}`];
  return [
    `From: Mail delivery <${report.from}>`,
    `To: <${toAscii(report.to)}>`,
    `Subject: ${subject}`,
    `Date: ${toMailDate(report.now)}`,
    `Message-ID: ${report.messageId}`,
    ...references,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    ...explain(report),
    '',
    `--${boundary}`,
    'Content-Type: message/delivery-status',
    '',
    `Reporting-MTA: dns; ${report.reportingHost}`,
    `Arrival-Date: ${toMailDate(report.queuedAt)}`,
    ...(report.originalMessageId === null ? [] : [`X-Original-Message-ID: ${toAscii(report.originalMessageId)}`]),
    ...report.recipients.flatMap((recipient) => ['', ...describeRecipient(recipient, report)]),
    '',
    `--${boundary}`,
    'Content-Type: text/rfc822-headers',
    '',
    toReturnedHeader(report.originalHeader),
    '',
    `--${boundary}--`,
    '',
  ].join('\r\n');
}

function explain(report: Report): string[] {
  const opening =
    report.action === 'failed'
      ? ['Your message could not be delivered to all recipients.']
      : [
          'Your message has not reached all recipients yet. No action is needed:',
          `delivery will be retried until ${new Date(report.givesUpAt).toUTCString()}.`,
        ];
  const lines = report.recipients.flatMap((recipient) => [
    '',
    `<${toAscii(recipient.email)}>`,
    ...wrap(toAscii(recipient.reply)).map((line) => `    ${line}`),
    ...(recipient.isUncertain ? ['    (One attempt was interrupted at its end: the message may have arrived.)'] : []),
  ]);
  return [...opening, ...lines];
}

function describeRecipient(recipient: ReportedRecipient, report: Report): string[] {
  return [
    `Final-Recipient: rfc822; ${toAscii(recipient.email)}`,
    `Action: ${report.action}`,
    `Status: ${recipient.status}`,
    ...(recipient.isRemote ? [`Diagnostic-Code: smtp; ${toAscii(recipient.reply).slice(0, 400)}`] : []),
    `Last-Attempt-Date: ${toMailDate(report.now)}`,
    ...(report.action === 'delayed' ? [`Will-Retry-Until: ${toMailDate(report.givesUpAt)}`] : []),
  ];
}

/** Replaces control and non-ASCII characters by "?", so that text from outside cannot begin a new line. */
const toAscii = (text: string): string => text.replace(/[^ -~]/g, '?');

function wrap(text: string): string[] {
  return text.match(/.{1,72}(?:\s|$)|\S{1,72}/g)?.map((line) => line.trim()) ?? [];
}

/**
 * @returns as many whole lines of the header as fit, in 7 bits. An empty line inside is harmless: the returned header then just
 * ends early.
 */
function toReturnedHeader(header: string): string {
  return header
    .slice(0, RETURNED_HEADER_MAX)
    .replace(/\r\n?|\n/g, '\r\n')
    .replace(/[^\t\n\r -~]/g, '?')
    .split('\r\n')
    .map((line) => line.slice(0, 998))
    .join('\r\n')
    .trimEnd();
}

/**
 * @returns the status code to report for a reply: the server's enhanced code if its class fits the action, otherwise one derived
 * from the basic code (RFC 3463).
 */
export function toStatus(
  code: number | null,
  enhanced: string | null,
  isExpired: boolean,
  action: ReportAction,
): string {
  const classOf = action === 'failed' ? '5' : '4';
  if (enhanced?.startsWith(classOf)) return enhanced;
  if (isExpired || action === 'delayed') return `${classOf}.4.7`;
  if (code === 550 || code === 551 || code === 553) return '5.1.1';
  if (code === 552) return '5.3.4';
  if (code === 554) return '5.7.1';
  return `${classOf}.0.0`;
}

export interface ReadRecipientReport {
  readonly email: string;
  readonly action: ReportAction;
  readonly status: string;
  readonly diagnostic: string;
}

const ACTIONS: readonly string[] = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'];
const RECIPIENTS_MAX = 200;

/** Parses a `message/delivery-status` part (RFC 3464 §2). Skips malformed groups of fields. */
export function readDeliveryStatus(text: string): ReadRecipientReport[] {
  const groups = text
    .replace(/\r\n?/g, '\n')
    .replace(/\n[ \t]+/g, ' ')
    .split(/\n{2,}/);
  return groups.slice(0, RECIPIENTS_MAX + 1).flatMap((group) => {
    const fields = new Map<string, string>();
    for (const line of group.split('\n')) {
      const colon = line.indexOf(':');
      if (colon > 0) fields.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
    }
    const recipient = fields.get('original-recipient') ?? fields.get('final-recipient');
    const email = recipient
      ?.slice(recipient.indexOf(';') + 1)
      .trim()
      .replace(/^<|>$/g, '')
      .toLowerCase();
    const action = fields.get('action')?.toLowerCase();
    if (!email?.includes('@') || action === undefined || !ACTIONS.includes(action)) return [];
    const status = /^[245]\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '')?.[0] ?? '';
    const diagnostic = (fields.get('diagnostic-code') ?? '').slice(0, 500);
    return [{ email, action: action as ReportAction, status, diagnostic }];
  });
}
