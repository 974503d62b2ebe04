/** Messages for tests of the mailbox object: plain data, with defaults for all members. */
import type { ParsedMessage, StoreMessageInput } from '../../../durable-objects/mail/contract/delivered-message.ts';

export function parsedMessage(parts: Partial<Omit<ParsedMessage, 'text'>> & { text?: string } = {}): ParsedMessage {
  return {
    from: { name: 'Ada Lovelace', email: 'ada@elsewhere.test' },
    to: [{ name: '', email: 'user@example.test' }],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: 'A subject',
    sentAt: null,
    messageId: `<${crypto.randomUUID()}@elsewhere.test>`,
    inReplyTo: null,
    references: [],
    html: null,
    headers: [],
    attachments: [],
    ...parts,
    text: { value: parts.text ?? 'A body', r2Key: null },
  };
}

export function delivery(
  parsed: Parameters<typeof parsedMessage>[0] = {},
  input: Partial<Omit<StoreMessageInput, 'parsed'>> = {},
): StoreMessageInput {
  const key = crypto.randomUUID();
  return {
    deliveryKey: key,
    rawKey: `mail/user/raw/${key}`,
    rawSha256: key,
    sizeBytes: 1000,
    receivedAt: Date.UTC(2026, 0, 1),
    origin: 'received',
    folder: 'inbox',
    isRead: false,
    isFlagged: false,
    labels: [],
    envelopeFrom: 'ada@elsewhere.test',
    envelopeTo: 'user@example.test',
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: true,
    parsed: parsedMessage(parsed),
    ...input,
  };
}
