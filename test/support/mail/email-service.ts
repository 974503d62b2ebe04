/**
 * A stand-in for the binding of Cloudflare Email Service, for tests inside workerd. It is as strict as the platform: it refuses what
 * the binding refuses (wrangler 4.155, `send_email.worker.ts`), and what the service refuses by its documented error codes. It is the
 * sink: it keeps every message that it accepted.
 */
import type { SuppressionApi } from './suppression-api.ts';

/** Bindings of a Worker whose mail leaves through the stand-in at once, and which reads the stand-in of the suppression list. */
export const withEmailService = (bindings: Env, service: EmailServiceStandIn, api: SuppressionApi): Env =>
  ({
    ...bindings,
    EMAIL: service.binding,
    MAIL_HOLD_SECONDS: '0',
    MAIL_HINTS: 'lost',
    CLOUDFLARE_MAIL_TOKEN: api.token,
    MAIL_API_URL: api.url,
  }) as unknown as Env;

export interface SunkMessage {
  /** The id that the binding returned. */
  readonly reference: string;
  readonly from: string;
  readonly to: string;
  readonly raw: string;
}

export interface EmailServiceStandIn {
  readonly binding: SendEmail;
  readonly sunk: readonly SunkMessage[];
  /** Addresses on the suppression list, in lower case. */
  readonly suppressed: Set<string>;
  /** Decides whether a call fails. The error has this code. Default: none fails. */
  failWith: string | null;
}

const RAW = 'EmailMessage::raw';
const BYTES_MAX = 5 * 1024 * 1024;

const fail = (code: string, message: string): never => {
  throw Object.assign(new Error(message), { code });
};

export function createEmailService(): EmailServiceStandIn {
  const sunk: SunkMessage[] = [];
  const suppressed = new Set<string>();
  const standIn: EmailServiceStandIn = {
    sunk,
    suppressed,
    failWith: null,
    binding: {
      async send(message: EmailMessage) {
        const body = (message as unknown as Record<string, ReadableStream<Uint8Array>>)[RAW];
        const raw = await new Response(body).text();
        const header = raw.slice(0, raw.indexOf('\r\n\r\n') + 2).replace(/\r\n[ \t]+/g, ' ');
        const from = /^from:.*?<?([^<>\s]+@[^<>\s]+?)>?\s*$/im.exec(header)?.[1];
        if (!/^message-id:/im.test(header)) throw new Error('invalid message-id');
        if (from !== message.from) throw new Error('From: header does not match mail from');
        if (/^received:/im.test(header)) throw new Error('invalid headers set');
        if (standIn.failWith !== null) fail(standIn.failWith, `refused by the stand-in with ${standIn.failWith}`);
        if (raw.length > BYTES_MAX) fail('E_CONTENT_TOO_LARGE', 'Email content exceeds size limit');
        if (suppressed.has(message.to.toLowerCase()))
          fail('E_RECIPIENT_SUPPRESSED', 'Recipient is on suppression list');
        const reference = `0101${crypto.randomUUID()}-msg`;
        sunk.push({ reference, from: message.from, to: message.to, raw });
        return { messageId: reference };
      },
    } as unknown as SendEmail,
  };
  return standIn;
}
