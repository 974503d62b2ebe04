/**
 * Schema of the body of `POST /v1/messages`. A text that becomes part of a header may not contain CR, LF or other control
 * characters.
 */
import { z } from '@hono/zod-openapi';
import { displayNameSchema } from '../../../shared/json/display-name.ts';
import { lineSchema, REPLY_TO_MAX, writtenMembers } from '../../schemas/draft.ts';
import { deliveryStateSchema } from '../../schemas/message.ts';

/** A Message-ID (RFC 5322 §3.6.4). */
const messageIdSchema = z
  .string()
  .max(998)
  .regex(/^<[^<>\s\p{Cc}]+>$/u, 'must be a Message-ID in angle brackets');

export const submitAddressSchema = z
  .strictObject({ name: lineSchema(256).optional(), email: lineSchema(320) })
  .openapi('SubmitAddress');

/** Name of the sender, which the user chose. Names of recipients may come from received mail, so these are sent as they are. */
const fromSchema = z
  .strictObject({ name: displayNameSchema(lineSchema(256)).optional(), email: lineSchema(320) })
  .openapi('SubmitSender');

/** Content-ID of a picture that the HTML shows. */
const contentIdSchema = z
  .string()
  .max(200)
  .regex(/^[!-;=?-~]+$/, 'must be ASCII without spaces and angle brackets')
  .optional();

const uploadedFileSchema = z.strictObject({
  attachment_id: z.string().max(100),
  content_id: contentIdSchema,
});

const inlineFileSchema = z.strictObject({
  file_name: lineSchema(255).min(1),
  content_type: z
    .string()
    .max(200)
    .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:;[ -~]*)?$/, 'A media type such as application/pdf.'),
  content: z.string().openapi({ description: 'Base64 of up to 5 MB.' }),
  content_id: contentIdSchema,
});

const ADDRESSES_MAX = 1_000;
const BODY_LENGTH_MAX = 5_000_000;

export const submitSchema = z
  .strictObject({
    from: fromSchema.optional(),
    to: z.array(submitAddressSchema).max(ADDRESSES_MAX).optional(),
    cc: z.array(submitAddressSchema).max(ADDRESSES_MAX).optional(),
    bcc: z.array(submitAddressSchema).max(ADDRESSES_MAX).optional(),
    reply_to: z.array(submitAddressSchema).max(REPLY_TO_MAX).optional(),
    subject: lineSchema(2_000).optional(),
    body: z.string().max(BODY_LENGTH_MAX).optional(),
    html: z.string().max(BODY_LENGTH_MAX).optional(),
    attachments: z
      .array(z.union([uploadedFileSchema, inlineFileSchema]))
      .max(100)
      .optional(),
    in_reply_to: messageIdSchema.optional(),
    references: z.array(messageIdSchema).max(100).optional(),
    ...writtenMembers,
    send_at: z.iso.datetime({ offset: true }).optional(),
    draft_id: z
      .string()
      .max(100)
      .optional()
      .openapi({ description: 'Without other content: sends the draft as saved.' }),
  })
  .openapi('Submit');

export const submitAnswerSchema = z
  .object({
    id: z.string(),
    email_id: z.string(),
    status: z.literal('queued'),
    delivery: z.array(deliveryStateSchema),
  })
  .openapi('SubmitAnswer');

export const cancelAnswerSchema = z
  .object({
    id: z.string(),
    delivery: z.array(deliveryStateSchema),
    draft_id: z.string().nullable().openapi({ description: 'Null if some recipients already have the message.' }),
  })
  .openapi('CancelAnswer');

export type SubmitRequest = z.infer<typeof submitSchema>;
export type SubmitAddress = z.infer<typeof submitAddressSchema>;
export type SubmitFile = z.infer<typeof uploadedFileSchema> | z.infer<typeof inlineFileSchema>;
