import { err, ok } from '../../../shared/pure/result.ts';
import { readDocument } from '../bodies/document-body.ts';
import { parseNotification } from '../documents/notification-document.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

/** Header of the answer with the secret that signs the bucket's webhooks. Only callers that may set the destinations get it. */
const SECRET_HEADER = 'x-tessera-webhook-secret';

/** Sets the event notifications of a bucket. An empty document removes the configuration. */
export const putBucketNotificationConfiguration: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketNotification'),
  async run({ bucket, engine, request, caller }) {
    const text = await readDocument(request, caller.payload);
    if (!text.ok) return text;
    const rules = parseNotification(text.value, () => crypto.randomUUID(), engine.mayNotify);
    if (!rules.ok) return rules;
    const document = rules.value.length === 0 ? null : JSON.stringify(rules.value);
    const set = await engine.setConfiguration(bucket, 'notification', document);
    if (!set.ok) return err(toS3Error(set.error));
    const hasWebhook = rules.value.some(({ target }) => target.kind === 'webhook');
    return ok(emptyAnswer(200, hasWebhook ? { [SECRET_HEADER]: engine.webhookSecretOf(bucket) } : {}));
  },
};
