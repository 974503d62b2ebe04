/** Schemas of masked addresses. */
import { z } from '@hono/zod-openapi';

/** Where an address was given away, in the person's words. */
export const maskedNoteSchema = z.string().trim().max(200);

/** Origin of a site, such as `https://shop.example.com`; empty if unknown. */
export const maskedOriginSchema = z
  .string()
  .max(300)
  .regex(/^(?:https?:\/\/[^\s/?#@]+)?$/, 'The origin of a site, such as https://shop.example.com.');

export const maskedSchema = z
  .object({
    email: z.string().openapi({ example: 'maple.otter.4182@example.test' }),
    state: z.enum(['pending', 'enabled', 'disabled', 'deleted']).openapi({
      description: 'pending: ends by itself if no mail comes within a day. deleted: ended; it can be opened again.',
    }),
    note: z.string(),
    for_domain: z.string(),
    created_by: z.string(),
    created_at: z.string(),
    last_message_at: z.string().nullable().openapi({ description: 'Precise to an hour.' }),
  })
  .openapi('MaskedAddress');
