/** Settings of mail transport, in the units that the code uses. */
import { settingsOf } from '../../shared/settings/settings.ts';
import { RETRY_POLICY, type RetryPolicy } from '../domain/recipient-state.ts';
import type { SendLimits } from '../domain/send-limit.ts';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from '../smtp/smtp-wire.ts';

export interface TransportSettings {
  /** Time during which a sent message can be canceled. */
  readonly holdMs: number;
  /** Time that a worker has for an attempt before another worker may try. */
  readonly leaseMs: number;
  /** Delays of retries after temporary failures. */
  readonly retry: RetryPolicy;
  /**
   * Delay before incoming mail is processed again: a sixth of the first delay of outgoing mail. It is shorter because no other
   * server retries incoming mail.
   */
  readonly incomingRetryMs: number;
  /** Timeout of each stage of SMTP. */
  readonly timeouts: SmtpTimeouts;
  /** Limit of recipients to whom an account may send per hour. */
  readonly sendLimits: SendLimits;
  /** Limit of recipients to whom all accounts of a domain together may send per clock hour. */
  readonly domainRecipientsPerHour: number;
  /** Limit of forwards and vacation replies that an account may send per hour. */
  readonly automaticPerHour: number;
  /** Our host name in EHLO, in Received fields and in reports. */
  readonly hostname: string;
  /** Maximum of recipients of one message. */
  readonly recipientsMax: number;
}

const LOCAL_HOSTNAME = 'localhost';

/** Reads the settings of mail transport. @throws MisconfiguredError if a setting has a bad value. */
export function readTransportSettings(env: Env): TransportSettings {
  const settings = settingsOf(env);
  const timeoutMsMax = (settings.SMTP_TIMEOUT_SECONDS ?? Number.POSITIVE_INFINITY) * 1000;
  const firstDelayMs = settings.MAIL_RETRY_SECONDS * 1000;
  const stages = Object.entries(SMTP_TIMEOUTS).map(([stage, ms]) => [stage, Math.min(ms, timeoutMsMax)]);
  return {
    holdMs: settings.MAIL_HOLD_SECONDS * 1000,
    leaseMs: settings.MAIL_LEASE_SECONDS * 1000,
    retry: { ...RETRY_POLICY, firstDelayMs },
    incomingRetryMs: Math.ceil(firstDelayMs / 6),
    timeouts: Object.fromEntries(stages) as SmtpTimeouts,
    sendLimits: {
      perHour: settings.SEND_LIMIT_PER_HOUR,
      perHourFirstDay: settings.SEND_LIMIT_FIRST_DAY,
      perHourFirstWeek: settings.SEND_LIMIT_FIRST_WEEK,
    },
    domainRecipientsPerHour: settings.DOMAIN_SEND_LIMIT_PER_HOUR,
    automaticPerHour: settings.AUTOMATIC_LIMIT_PER_HOUR,
    hostname: settings.MAIL_HOSTNAME || settings.MAIL_DOMAINS[0] || LOCAL_HOSTNAME,
    recipientsMax: settings.MAIL_RECIPIENTS_MAX,
  };
}
