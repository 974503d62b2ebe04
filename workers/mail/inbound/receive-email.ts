/** `email()`: handles a message from Cloudflare Email Routing, for one recipient. Uses the same path as `/v1/inbound`. */
import { acceptMessage } from './accept-message.ts';

/**
 * A permanent reply calls `setReject`, which bounces the message. A temporary reply is thrown, so the sender retries.
 * @throws on a 4xx reply.
 */
export async function receiveEmail(message: ForwardableEmailMessage, env: Env, _ctx: ExecutionContext): Promise<void> {
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
