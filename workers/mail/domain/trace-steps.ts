/** Turns what a mailbox and Email Routing know of mail into steps, the newest first. Pure. */

export interface TraceStep {
  readonly at: number;
  /** offered: by Email Routing. waiting, quarantined, delivered: received mail. sent: mail on its way out. */
  readonly step: 'offered' | 'waiting' | 'quarantined' | 'delivered' | 'sent';
  readonly result: string;
  readonly detail: string;
  /** The address at the other side. */
  readonly peer: string;
  readonly messageId: string | null;
}

interface Received {
  readonly at: number;
  readonly headerMessageId: string | null;
  readonly sender: string;
  readonly folderRole: string | null;
  readonly authentication: string | null;
  readonly spam: string | null;
}

interface Verdicts {
  readonly spf?: { readonly result?: string };
  readonly dkim?: readonly { readonly result?: string }[];
  readonly dmarc?: { readonly result?: string; readonly disposition?: string };
}

interface Spam {
  readonly score?: number;
  readonly verdict?: string;
  readonly reasons?: readonly { readonly text?: string }[];
}

const REASONS_MAX = 5;

const emailOf = (sender: string): string => (JSON.parse(sender) as { email?: string } | null)?.email ?? '';

/** @returns what a received message was judged by, such as `spf=pass dkim=fail dmarc=fail (reject); spam 7.2 (junk): …`. */
export function describeVerdicts(authentication: string | null, spam: string | null): string {
  const { spf, dkim = [], dmarc } = (authentication === null ? {} : JSON.parse(authentication)) as Verdicts;
  const judged = (spam === null ? {} : JSON.parse(spam)) as Spam;
  const signature = dkim.some(({ result }) => result === 'pass') ? 'pass' : (dkim[0]?.result ?? 'none');
  const disposition = dmarc?.disposition && dmarc.disposition !== 'none' ? ` (${dmarc.disposition})` : '';
  const parts = [
    ...(authentication === null
      ? []
      : [`spf=${spf?.result ?? 'none'} dkim=${signature} dmarc=${dmarc?.result ?? 'none'}${disposition}`]),
    ...(judged.verdict === undefined
      ? []
      : [[`spam ${judged.score} (${judged.verdict})`, describeReasons(judged)].filter(Boolean).join(': ')]),
  ];
  return parts.join('; ');
}

const describeReasons = ({ reasons = [] }: Spam): string =>
  reasons
    .slice(0, REASONS_MAX)
    .flatMap(({ text }) => text ?? [])
    .join(', ');

export const toDelivered = (message: Received): TraceStep => ({
  at: message.at,
  step: 'delivered',
  result: message.folderRole ?? 'folder',
  detail: describeVerdicts(message.authentication, message.spam),
  peer: emailOf(message.sender),
  messageId: message.headerMessageId,
});

/** @param recipients JSON list of recipients with their states. @param kind `message`, `forward`, `vacation` and so on. */
export function toSent(at: number, kind: string, messageId: string | null, recipients: string): TraceStep[] {
  const states = JSON.parse(recipients) as { email: string; state: string; lastReply?: string | null }[];
  return states.map(({ email, state, lastReply }) => ({
    at,
    step: 'sent',
    result: state,
    detail: [kind === 'message' ? '' : kind, lastReply ?? ''].filter((text) => text !== '').join(': '),
    peer: email,
    messageId,
  }));
}
