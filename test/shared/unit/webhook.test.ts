import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { retryAfter, sendWebhook, signWebhook, toWebhookSecret } from '../../../workers/shared/json/webhook.ts';

const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
const other = Buffer.alloc(32, 7);
const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' };

describe('a webhook', () => {
  it('is signed as the example of Standard Webhooks', () => {
    expect(signWebhook({ ...message, secrets: [secret] }, 1_614_265_330_000)).toEqual({
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('is accepted by receivers with either secret of a rotation, and by no other', () => {
    const headers = signWebhook({ ...message, secrets: [secret, other] }, Date.now());
    for (const known of [secret, other])
      expect(new Webhook(toWebhookSecret(known)).verify(message.body, headers)).toEqual({ test: 2432232314 });
    const stranger = new Webhook(toWebhookSecret(Buffer.alloc(32, 8)));
    expect(() => stranger.verify(message.body, headers)).toThrow('No matching signature');
    expect(() => new Webhook(toWebhookSecret(secret)).verify('{"test": 1}', headers)).toThrow('No matching signature');
  });

  it('is not sent to an address that the service may not call', async () => {
    const webhook = { ...message, url: 'https://10.0.0.1/', secrets: [secret] };
    expect(await sendWebhook(webhook, () => false, Date.now())).toBeNull();
  });

  it('is repeated with growing waits of at most an hour', () => {
    expect([0, 1, 2, 6, 7, 80].map(retryAfter)).toEqual([30_000, 60_000, 120_000, 1_920_000, 3_600_000, 3_600_000]);
  });
});
