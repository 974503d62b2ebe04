/** JSON schemas of senders that a user trusts or blocks. */
import { z } from '@hono/zod-openapi';
import { SENDER_KINDS, SENDER_ORIGINS, SENDER_STATUSES } from '../../../durable-objects/mail/contract/contacts.ts';

export const senderStatusSchema = z.enum(SENDER_STATUSES);

export const senderSchema = z
  .strictObject({
    sender: z.string().min(3).max(320).openapi({
      description: 'An address, a domain like `@example.com`, or a mailing list like `<news.example.com>` (List-Id).',
    }),
    status: senderStatusSchema,
  })
  .openapi('SenderRequest', { example: { sender: 'news@example.com', status: 'trusted' } });

export const senderAnswerSchema = z
  .object({
    id: z.string(),
    sender: z.string(),
    kind: z.enum(SENDER_KINDS),
    status: senderStatusSchema,
    origin: z.enum(SENDER_ORIGINS).openapi({
      description: 'user: entered here. mail: learned from a message that was moved out of Junk or into it.',
    }),
    created_at: z.string(),
  })
  .openapi('Sender', {
    description:
      'Mail of a trusted sender never goes to Junk if authentication proves the sender. Mail of a blocked one always does.',
    example: {
      id: '6f9d0b9e-3c55-4f0c-8a1e-5d3c0f1d2b7a',
      sender: 'news@example.com',
      kind: 'address',
      status: 'trusted',
      origin: 'user',
      created_at: '2026-11-22T09:00:00.000Z',
    },
  });

export type SenderAnswer = z.infer<typeof senderAnswerSchema>;
