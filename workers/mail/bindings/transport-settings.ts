/** Settings of mail transport, converted to the units of the parts that use them. */
import { settingsOf } from '../../shared/settings.ts';
import { RETRY_POLICY, type RetryPolicy } from '../outbound/domain/recipient-state.ts';
import type { SendLimits } from '../outbound/domain/send-limit.ts';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from '../outbound/smtp/smtp-wire.ts';

export interface TransportSettings {
  /** Time in which a sent message can be canceled. */
  readonly holdMs: number;
  /** Time one worker has for an attempt before another worker may try. */
  readonly leaseMs: number;
  /** Delays after temporary failures. */
  readonly retry: RetryPolicy;
  /**
   * Delay before incoming mail is processed again: a sixth of the first delay of outgoing mail, because no other server would retry
   * it.
   */
  readonly incomingRetryMs: number;
  /** Upper limit for each stage of SMTP. */
  readonly timeouts: SmtpTimeouts;
  /** Recipients that an account may send to per hour. */
  readonly sendLimits: SendLimits;
  /** Recipients that all accounts of a domain may send to per clock hour. */
  readonly domainRecipientsPerHour: number;
  /** Forwards and vacation replies that an account may send per hour. */
  readonly automaticPerHour: number;
  /** The name in EHLO, in Received fields and in reports. */
  readonly hostname: string;
  /** Recipients that one message may have. */
  readonly recipientsMax: number;
}

const LOCAL_HOSTNAME = 'localhost';

/** @throws MisconfiguredError if one of the settings has a bad value. */
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
