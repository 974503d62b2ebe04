/** JSON schemas of drafts and uploads. */
import { z } from '@hono/zod-openapi';
import { IMPORTANCES, isReservedField } from '../domain/written-fields.ts';

const NO_LINE_ENDS = 'CR, LF and other control characters are not allowed.';
/** Schema of one line of text that is valid in a header. */
export const lineSchema = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax)
    .regex(/^[^\p{Cc}\u2028\u2029]*$/u, NO_LINE_ENDS);
export const REPLY_TO_MAX = 20;
const TEXT_LENGTH_MAX = 1_900_000;

/** Address in a draft, which may be incomplete. */
const draftAddressSchema = z.strictObject({ name: lineSchema(256).optional(), email: lineSchema(320) });
const messageIdSchema = lineSchema(998);

/** Header field that the author sets. The message has it unchanged. */
const headerFieldSchema = z
  .strictObject({
    name: z
      .string()
      .max(76)
      .regex(/^[!-9;-~]+$/, 'must be the name of a header field')
      .refine((name) => !isReservedField(name), 'must not be a field that the service or another member sets'),
    value: lineSchema(900).min(1),
  })
  .openapi('HeaderField', { example: { name: 'X-Ticket', value: '4711' } });

/** Members of a message other than recipients and content, which drafts and submissions share. */
export const writtenMembers = {
  headers: z.array(headerFieldSchema).max(50).optional(),
  importance: z.enum(IMPORTANCES).optional(),
  forward_of: z.string().max(100).optional().openapi({
    description: 'The id of the message that this one forwards. It is marked as forwarded when this one is sent.',
  }),
};

export const uploadSchema = z
  .object({ attachment_id: z.string(), file_name: z.string(), size: z.int(), content_type: z.string() })
  .openapi('Upload');

export const draftSchema = z
  .strictObject({
    from: draftAddressSchema.optional(),
    to: z.array(draftAddressSchema).max(1_000).default([]),
    cc: z.array(draftAddressSchema).max(1_000).default([]),
    bcc: z.array(draftAddressSchema).max(1_000).default([]),
    reply_to: z.array(draftAddressSchema).max(REPLY_TO_MAX).default([]),
    subject: lineSchema(2_000).default(''),
    body: z.string().max(TEXT_LENGTH_MAX).default(''),
    html: z.string().max(TEXT_LENGTH_MAX).optional(),
    attachments: z
      .array(z.strictObject({ attachment_id: z.string().max(100) }))
      .max(100)
      .default([]),
    in_reply_to: messageIdSchema.optional(),
    references: z.array(messageIdSchema).max(100).default([]),
    ...writtenMembers,
  })
  .openapi('DraftRequest');

const addressAnswerSchema = z.object({ name: z.string(), email: z.string() });
export const draftAnswerSchema = z
  .object({
    id: z.string(),
    refusal: z.string().nullable().openapi({
      description:
        'Why a message that was sent came back to Drafts: the words of the spam or virus check. Null after the next save.',
    }),
    revision: z.int(),
    updated_at: z.string(),
    from: addressAnswerSchema.nullable(),
    to: z.array(addressAnswerSchema),
    cc: z.array(addressAnswerSchema),
    bcc: z.array(addressAnswerSchema),
    reply_to: z.array(addressAnswerSchema),
    subject: z.string(),
    body: z.string(),
    html: z.string().nullable(),
    attachments: z.array(uploadSchema),
    in_reply_to: z.string().nullable(),
    references: z.array(z.string()),
    headers: z.array(headerFieldSchema),
    importance: z.enum(IMPORTANCES),
    forward_of: z.string().nullable(),
  })
  .openapi('Draft');

export type DraftRequest = z.infer<typeof draftSchema>;
export type DraftAnswer = z.infer<typeof draftAnswerSchema>;
