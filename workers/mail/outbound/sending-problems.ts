/**
 * Says which domains cannot send through Email Service, or send without delivery events, and what an operator does about it. Known from
 * the answers of the service, so that it needs no right to read the settings of the account.
 */
import { createClock } from '../../shared/settings/clock.ts';
import { listAwaitedEvents, listSendingRefusals } from '../store/sending-problem-store.ts';
import { readMonthUse, WARNED_SHARE } from './month-limit.ts';
import { readWaiting, type Waiting } from './queue-metrics.ts';

export interface SendingProblem {
  readonly domain: string;
  readonly code: 'not_allowed' | 'quota' | 'no_events';
  /** A sentence for the operator, without the domain. */
  readonly message: string;
  /** Command that repairs it; null if no command does. */
  readonly command: string | null;
  /** Last words of Email Service; null if it refused nothing. */
  readonly reply: string | null;
  /** Time of the last refusal, or since which no event arrived. */
  readonly at: number;
}

const HOUR_MS = 3_600_000;
/** Attempts for mail that waits are at most four hours apart, so an older refusal is repaired, or no mail waits. */
const REFUSAL_AGE_MS = 5 * HOUR_MS;
/** Events arrive within minutes of an attempt. Hours are counted whole, so the wait is between one and two hours. */
const EVENT_HOURS_MAX = 2;

const EVENTS = 'delivered,deferred,bounced,failed,rejected,complained'.replaceAll(/\w+/g, 'message.$&');

const describe = {
  not_allowed: (domain: string) => ({
    message: 'Email Service does not accept its mail, so it waits: the domain is not enabled for sending.',
    command: `npx wrangler email sending enable ${domain}`,
  }),
  quota: () => ({
    message: 'The daily quota of Email Service is used up, so its mail waits. Cloudflare raises the quota on request.',
    command: null,
  }),
  no_events: (domain: string) => ({
    message: 'No delivery events arrive, so its mail stays "sent": the events queue is not subscribed.',
    command:
      'npx wrangler queues subscription create tessera-mail-events --source email.sending --zone-id <zone id> ' +
      `--domain ${domain} --events ${EVENTS}`,
  }),
} as const;

/** Finds problems of sending through Email Service, by domain. */
export async function findSendingProblems(env: Env): Promise<SendingProblem[]> {
  const now = createClock(env)();
  const [refusals, awaited] = await Promise.all([
    listSendingRefusals(env.DIRECTORY, now - REFUSAL_AGE_MS),
    listAwaitedEvents(env.DIRECTORY, Math.floor(now / HOUR_MS) - EVENT_HOURS_MAX),
  ]);
  const refused = refusals.map(({ domain, code, reply, at }) => ({
    ...{ domain, code, reply, at },
    ...describe[code](domain),
  }));
  // A domain whose mail is not accepted has no events.
  const silent = awaited
    .filter(({ domain }) => !refused.some((each) => each.domain === domain))
    .map(({ domain, hour }) => ({
      ...{ domain, code: 'no_events' as const, reply: null, at: hour * HOUR_MS },
      ...describe.no_events(domain),
    }));
  return [...refused, ...silent].sort((a, b) => (a.domain < b.domain ? -1 : 1));
}

/** Problems of sending for health, which shows no addresses and no words of other servers. */
export async function findSendingWarnings(env: Env): Promise<{ name: string; message: string }[]> {
  const [problems, { recipients, limit }, waiting] = await Promise.all([
    findSendingProblems(env),
    readMonthUse(env),
    readWaiting(env),
  ]);
  const ofDomains = problems.map(({ domain, message, command }) => ({
    name: domain,
    message: command === null ? message : `${message} Run \`npm run deploy\`, or \`${command}\`.`,
  }));
  const warnings = [...(waiting.diagnosis === 'too_few_consumers' ? [toConsumerWarning(waiting)] : []), ...ofDomains];
  if (recipients === 0 || recipients < limit * WARNED_SHARE) return warnings;
  const message = `${recipients} of ${limit} recipients of this month are granted; over the limit, mail waits. Raise MAIL_OUT_PER_MONTH if they are wanted.`;
  return [{ name: 'MAIL_OUT_PER_MONTH', message }, ...warnings];
}

function toConsumerWarning({ waitingForConsumer, dueLagMs, consumersMax }: Waiting) {
  const advice =
    consumersMax === null
      ? 'The platform starts up to 250 consumers: look into the log for failing ones.'
      : `Raise MAIL_CONSUMERS, which is ${consumersMax}.`;
  const message = `Mail that is due is not attempted: ${waitingForConsumer} recipients wait for a consumer of the queue, the oldest for ${Math.round(dueLagMs / 1000)} s. ${advice}`;
  return { name: 'MAIL_CONSUMERS', message };
}
