/** What of mail transport can be set by a variable, with its default. */
import { RETRY_POLICY, type RetryPolicy } from './outbound/domain/recipient-state.ts';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from './outbound/smtp/smtp-wire.ts';

export interface TransportSettings {
  /** `MAIL_HOLD_SECONDS`: how long a message can be called back after it was sent; 10. */
  readonly holdMs: number;
  /** `MAIL_LEASE_SECONDS`: how long one worker may take over an attempt before another may try; 900. */
  readonly leaseMs: number;
  /** `MAIL_RETRY_SECONDS`: the first delay after a temporary failure; 60. */
  readonly retry: RetryPolicy;
  /** A sixth of it, when we could not finish with a message that came in: nobody else tries it again. */
  readonly incomingRetryMs: number;
  /** `SMTP_TIMEOUT_SECONDS`: no stage of SMTP may take longer than this; RFC 5321's own times by default. */
  readonly timeouts: SmtpTimeouts;
  /** `SEND_LIMIT_PER_HOUR`: messages an account may send; 200. */
  readonly sendLimitPerHour: number;
  /** `MAIL_HOSTNAME`: our name in EHLO and in reports; the first mail domain by default. */
  readonly hostname: string;
  /** `MAIL_RECIPIENTS_MAX`: of one message; 100. */
  readonly recipientsMax: number;
}

const RECIPIENTS_MAX = 100;

export function readTransportSettings(env: Env): TransportSettings {
  const variables = env as unknown as Record<string, string | undefined>;
  const seconds = (name: string, fallbackMs: number): number => {
    const value = variables[name];
    return value === undefined || value === '' || !Number.isFinite(Number(value)) ? fallbackMs : Number(value) * 1000;
  };
  const timeoutMsMax = seconds('SMTP_TIMEOUT_SECONDS', Number.POSITIVE_INFINITY);
  const firstDelayMs = seconds('MAIL_RETRY_SECONDS', RETRY_POLICY.firstDelayMs);
  const stages = Object.entries(SMTP_TIMEOUTS).map(([stage, ms]) => [stage, Math.min(ms, timeoutMsMax)]);
  return {
    holdMs: seconds('MAIL_HOLD_SECONDS', 10_000),
    leaseMs: seconds('MAIL_LEASE_SECONDS', 900_000),
    retry: { ...RETRY_POLICY, firstDelayMs },
    incomingRetryMs: Math.ceil(firstDelayMs / 6),
    timeouts: Object.fromEntries(stages) as SmtpTimeouts,
    sendLimitPerHour: Number(variables.SEND_LIMIT_PER_HOUR || 200),
    hostname: variables.MAIL_HOSTNAME || env.MAIL_DOMAINS.split(',')[0]?.trim() || 'localhost',
    recipientsMax: Number(variables.MAIL_RECIPIENTS_MAX || RECIPIENTS_MAX),
  };
}
