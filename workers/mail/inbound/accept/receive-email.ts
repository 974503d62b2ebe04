/** `email()`: handles a message from Cloudflare Email Routing, for one recipient. Accepts it in the same way as `/v1/inbound`. */
import { acceptMessage } from './accept-message.ts';

/**
 * Handles a message. A permanent reply calls `setReject`, which bounces the message.
 * @throws on a 4xx reply, so that the sender retries.
 */
export async function receiveEmail(message: ForwardableEmailMessage, env: Env): Promise<void> {
  const [reply] = await acceptMessage(
    env,
    {
      from: message.from === '<>' ? '' : message.from,
      to: [message.to],
      clientIp: null,
      helo: null,
      isFromEmailRouting: true,
    },
    { body: message.raw, sizeBytes: message.rawSize },
  );
  if (!reply || (reply.smtp_code >= 400 && reply.smtp_code < 500)) throw new Error(reply?.detail ?? 'no reply');
  if (reply.smtp_code >= 500) message.setReject(`${reply.smtp_code} ${reply.detail}`);
}
