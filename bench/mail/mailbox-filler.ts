/**
 * A Worker that fills a mailbox from inside workerd, with the RPC call that deliveries use. This stores thousands of messages
 * per second, without HTTP. `GET /?user_id=&count=` returns the ids of a sample of them.
 */

import type { StoreMessageInput } from '../../durable-objects/mail/contract/delivered-message.ts';
import type { Mailbox } from '../../durable-objects/mail/index.ts';
import { createRandom, makeWords } from './mailbox-text.ts';

const PER_CALL = 500;
const IDS_RETURNED_MAX = 2_000;

function makeMessage(n: number, random: () => number): StoreMessageInput {
  const sender = Math.floor(300 * random() ** 2);
  return {
    deliveryKey: `bench:${n}`,
    rawKey: `mail/bench/${n}`,
    rawSha256: String(n),
    sizeBytes: 3_000 + Math.floor(20_000 * random()),
    receivedAt: Date.UTC(2016, 0, 1) + n * 120_000,
    origin: 'received',
    folder: (['inbox', 'inbox', 'inbox', 'archive', 'sent'] as const)[n % 5] ?? 'inbox',
    isRead: random() < 0.95,
    isFlagged: random() < 0.01,
    labels: random() < 0.02 ? ['label'] : [],
    envelopeFrom: '',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: false,
    parsed: {
      from: { name: `Person ${sender}`, email: `person${sender}@elsewhere.test` },
      to: [{ name: '', email: 'me@example.test' }],
      cc: [],
      bcc: [],
      replyTo: [],
      subject: makeWords(random, 6),
      sentAt: null,
      messageId: `<${n}@bench>`,
      inReplyTo: n % 3 === 0 ? null : `<${n - 1}@bench>`,
      references: [],
      text: { value: `${makeWords(random, 80)}${n === 500 ? ' needle' : ''}`, r2Key: null },
      html: null,
      headers: [],
      attachments: [],
    },
  };
}

export default {
  async fetch(request: Request, env: { MAILBOX: DurableObjectNamespace<Mailbox> }): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const count = Number(query.get('count'));
    const stub = env.MAILBOX.get(env.MAILBOX.idFromName(query.get('user_id') ?? ''));
    const random = createRandom(7);
    const ids: string[] = [];
    const step = Math.ceil(count / IDS_RETURNED_MAX);
    for (let n = 0; n < count; n += PER_CALL) {
      const inputs = Array.from({ length: Math.min(PER_CALL, count - n) }, (_, at) => makeMessage(n + at, random));
      const stored = await stub.storeMessages(inputs);
      if (!stored.ok) throw new Error(stored.error.kind);
      for (const [at, each] of stored.value.entries()) {
        if (!each.ok) throw new Error(each.error.kind);
        if ((n + at) % step === 0) ids.push(each.value.messageId);
      }
    }
    return Response.json(ids);
  },
};
