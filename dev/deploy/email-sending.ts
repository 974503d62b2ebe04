/**
 * Sending through Cloudflare's Email Service: each mail domain is enabled for sending, and its delivery events go into the deployment's
 * queue. Both are set once; a setting of another deployment is left alone.
 * https://developers.cloudflare.com/email-service/configuration/domains/ and …/reference/event-subscriptions/
 */
import { DELIVERY_EVENTS } from '../../workers/mail/domain/delivery-event.ts';
import { type ApiAccess, callApi, type Zone } from './cloudflare-api.ts';
import { type Account, listPages, type Queue } from './resources.ts';
import type { Outcome } from './zone-step.ts';

interface SendingDomain {
  readonly name: string;
  readonly enabled: boolean;
}

/** Enables a domain for sending. Before that, Email Service accepts only verified addresses. */
export async function enableSending(access: ApiAccess, zone: Zone, domain: string): Promise<Outcome> {
  const path = `/zones/${zone.id}/email/sending/subdomains`;
  const known = (await callApi<SendingDomain[]>(access, 'GET', path)).find(({ name }) => name === domain);
  if (known?.enabled) return 'already set';
  const { enabled } = await callApi<SendingDomain>(access, 'POST', path, { name: domain });
  return enabled ? 'done' : { skipped: 'Cloudflare has not verified its DNS records yet.' };
}

interface Subscription {
  readonly id: string;
  readonly enabled: boolean;
  readonly events: readonly string[];
  readonly source: { readonly type: string; readonly domain?: string };
  readonly destination: { readonly queue_id?: string };
}

const EVENTS = DELIVERY_EVENTS.map((kind) => `message.${kind}`);

/**
 * Subscribes the queue to the delivery events of a domain.
 * @param queueName queue whose consumer is the Worker.
 */
export async function subscribeEvents(
  account: Account,
  zone: Zone,
  domain: string,
  queueName: string,
): Promise<Outcome> {
  const root = `/accounts/${account.accountId}`;
  const queues = await listPages<Queue>(account, `${root}/queues`);
  const queueId = queues.find(({ queue_name }) => queue_name === queueName)?.queue_id;
  if (queueId === undefined) return { skipped: `the queue ${queueName} does not exist.` };
  const path = `${root}/event_subscriptions/subscriptions`;
  const ofDomain = (await listPages<Subscription>(account, path)).filter(
    ({ source }) => source.type === 'email.sending' && source.domain === domain,
  );
  const ours = ofDomain.find(({ destination }) => destination.queue_id === queueId);
  if (ours?.enabled && EVENTS.every((event) => ours.events.includes(event))) return 'already set';
  if (ours) {
    await callApi(account.access, 'PATCH', `${path}/${ours.id}`, { enabled: true, events: EVENTS });
    return 'done';
  }
  await callApi(account.access, 'POST', path, {
    name: `${queueName} ${domain}`,
    enabled: true,
    source: { type: 'email.sending', zone_id: zone.id, domain },
    destination: { type: 'queues.queue', queue_id: queueId },
    events: EVENTS,
  });
  return 'done';
}
