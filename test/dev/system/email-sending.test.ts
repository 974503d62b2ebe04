/** The steps of `npm run deploy` that set up sending, against the stand-in for Cloudflare's API. */
import { beforeEach, describe, expect, it } from 'vitest';
import { callApi } from '../../../dev/deploy/cloudflare-api.ts';
import { enableSending, subscribeEvents } from '../../../dev/deploy/email-sending.ts';
import { ACCOUNT_ID, ZONE_ID } from '../../support/deploy/cloudflare-state.ts';
import { prepareCloudflare } from '../../support/deploy/test.ts';

const EVENTS = ['delivered', 'deferred', 'bounced', 'failed', 'rejected', 'complained'].map(
  (kind) => `message.${kind}`,
);
const stage = prepareCloudflare();
const QUEUE = 'tessera-mail-events';
const zone = { id: ZONE_ID, name: 'example.com' };
const open = () => ({ access: { baseUrl: stage.cloudflare.url, token: 'token' }, accountId: ACCOUNT_ID });
const enable = () => enableSending(open().access, zone, 'example.com');
const subscribe = () => subscribeEvents(open(), zone, 'example.com', QUEUE);

beforeEach(() => callApi(open().access, 'POST', `/accounts/${ACCOUNT_ID}/queues`, { queue_name: QUEUE }));

describe('the delivery events of a domain', () => {
  it('are subscribed once, all six of them, into the queue of the deployment', async () => {
    expect(await enable()).toBe('done');
    expect(await subscribe()).toBe('done');
    const queueId = stage.cloudflare.state.queues.get(QUEUE)?.queue_id;
    expect(stage.cloudflare.state.subscriptions).toMatchObject([
      {
        enabled: true,
        events: EVENTS,
        source: { domain: 'example.com' },
        destination: { type: 'queues.queue', queue_id: queueId },
      },
    ]);
    expect([await enable(), await subscribe()]).toEqual(['already set', 'already set']);
    expect(stage.cloudflare.state.subscriptions).toHaveLength(1);
  });

  it.each([[{ enabled: false }], [{ events: ['message.delivered'] }]])(
    'are completed if the subscription has %j',
    async (change) => {
      await enable();
      await subscribe();
      Object.assign(stage.cloudflare.state.subscriptions[0] ?? {}, change);
      expect(await subscribe()).toBe('done');
      expect(stage.cloudflare.state.subscriptions).toMatchObject([{ enabled: true, events: EVENTS }]);
    },
  );

  it('go into the queues of two deployments of one domain', async () => {
    await enable();
    await subscribe();
    const other = 'tessera-staging-mail-events';
    await callApi(open().access, 'POST', `/accounts/${ACCOUNT_ID}/queues`, { queue_name: other });
    expect(await subscribeEvents(open(), zone, 'example.com', other)).toBe('done');
    expect(stage.cloudflare.state.subscriptions).toHaveLength(2);
  });

  it('are refused by the platform before the domain is enabled, and skipped without the queue', async () => {
    await expect(subscribe()).rejects.toThrow('not an enabled sending domain');
    expect(await subscribeEvents(open(), zone, 'example.com', 'other')).toEqual({
      skipped: 'the queue other does not exist.',
    });
    expect(stage.cloudflare.state.subscriptions).toEqual([]);
  });
});
