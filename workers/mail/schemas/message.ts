/** JSON schemas of folders and messages. */
import { z } from '@hono/zod-openapi';
import { FLAG_COLUMNS, type FlagColumn } from '../domain/message-flags.ts';
import { IMPORTANCES } from '../domain/written-fields.ts';

export const roleSchema = z.enum(['inbox', 'all', 'archive', 'drafts', 'flagged', 'junk', 'sent', 'trash']);

export const folderSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    user_id: z.string(),
    role: roleSchema.nullable(),
    unread: z.int(),
    total: z.int(),
  })
  .openapi('Folder');

export const addressSchema = z.object({ name: z.string(), email: z.string() }).openapi('Address');

/** @returns members for the flags of a message. */
export const flagMembers = <Schema extends z.ZodType>(schema: Schema): Record<FlagColumn, Schema> =>
  Object.fromEntries(FLAG_COLUMNS.map((column) => [column, schema])) as Record<FlagColumn, Schema>;

const summaryMembers = {
  id: z.string(),
  user_id: z.string(),
  email_id: z.string(),
  thread_id: z.string(),
  folder_id: z.string(),
  from: addressSchema.nullable(),
  to: z.array(addressSchema),
  date: z.string().openapi({ description: 'The Date header; received_at if the header is missing or invalid.' }),
  received_at: z.string(),
  subject: z.string(),
  preview: z.string(),
  size: z.int(),
  ...flagMembers(z.boolean()),
  snoozed_until: z.string().nullable().openapi({ description: 'When the message returns to the Inbox.' }),
  is_draft: z.boolean(),
  has_attachments: z.boolean(),
  labels: z.array(z.string()),
};

export const summarySchema = z.object({ ...summaryMembers, snippet: z.string().optional() }).openapi('MessageSummary');

export const attachmentSchema = z
  .object({
    file_name: z.string(),
    content_type: z.string(),
    size: z.int(),
    inline: z.boolean(),
    content_id: z.string().nullable(),
  })
  .openapi('Attachment');

export const deliveryStateSchema = z
  .object({
    email: z.string(),
    state: z.enum(['queued', 'held', 'deferred', 'sent', 'delivered', 'failed', 'canceled']),
    next_attempt_at: z.string().nullable().optional(),
    last_reply: z.string().nullable().optional(),
    uncertain: z.boolean().optional().openapi({
      description: 'An attempt was interrupted after its last byte: the message may have arrived, or arrived twice.',
    }),
    delayed: z.boolean().optional().openapi({
      description:
        'The message is sent, but the server of the recipient put it off; `last_reply` has its words. The service that carries the mail tries again.',
    }),
  })
  .openapi('DeliveryState');

const unsubscribeSchema = z
  .union([
    z.object({ method: z.literal('one_click'), url: z.string() }),
    z.object({ method: z.literal('mail'), email: z.string(), subject: z.string(), body: z.string() }),
    z.object({ method: z.literal('web'), url: z.string() }),
  ])
  .openapi('Unsubscribe', {
    description:
      'How to unsubscribe from the list of the message. POST …/unsubscribe does it by one_click and mail. A web page is opened by the user.',
  });

export const unsubscribeAnswerSchema = z.object({ method: z.enum(['one_click', 'mail']) }).openapi('UnsubscribeAnswer');

export const messageSchema = z
  .object({
    ...summaryMembers,
    cc: z.array(addressSchema),
    bcc: z.array(addressSchema).optional(),
    reply_to: z.array(addressSchema),
    importance: z.enum(IMPORTANCES),
    unsubscribe: unsubscribeSchema.nullable(),
    list_id: z.string().nullable().openapi({ description: 'The identifier in List-Id (RFC 2919), in lower case.' }),
    delivered_to: z.string().nullable().openapi({
      description: 'The masked address that received the message, if neither To nor Cc names it.',
    }),
    body: z.string(),
    html: z.string().nullable(),
    is_truncated: z.literal(true).optional().openapi({
      description:
        'Present if the bodies are too long to be shown whole: `body` is cut, and `html` is null. `…/raw` has all bytes.',
    }),
    headers: z.object({
      message_id: z.string().nullable(),
      in_reply_to: z.string().nullable(),
      references: z.array(z.string()),
    }),
    attachments: z.array(attachmentSchema),
    authentication: z.record(z.string(), z.unknown()).nullable(),
    spam: z.record(z.string(), z.unknown()).nullable(),
    delivery: z.array(deliveryStateSchema).optional(),
  })
  .openapi('Message');

export const threadSchema = z
  .object({ id: z.string(), is_muted: z.boolean(), data: z.array(messageSchema), next_cursor: z.string().nullable() })
  .openapi('Thread');

export const threadPatchSchema = z.strictObject({ is_muted: z.boolean() }).openapi('ThreadPatch');

export const labelSchema = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{Cc}]*$/u, 'must not have control characters');

export const messagePatchSchema = z
  .strictObject({
    ...flagMembers(z.boolean().optional()),
    snoozed_until: z.iso.datetime({ offset: true }).nullable().optional().openapi({
      description: 'Archives the message until this time, at most a year ahead. null, or a move, ends that.',
    }),
    folder_id: z.string().max(100).optional(),
    labels: z.array(labelSchema).max(50).optional(),
  })
  .openapi('MessagePatch');

export const BATCH_MAX = 1_000;
export const batchSchema = messagePatchSchema
  .extend({
    message_ids: z.array(z.string().max(100)).min(1).max(BATCH_MAX).optional(),
    query: z.string().min(1).max(1_000).optional().openapi({
      description:
        'Changes all messages that this search finds, in place of message_ids. Repeat the request with next_cursor as cursor until it is null.',
    }),
    cursor: z.string().max(500).optional(),
    add_labels: z.array(labelSchema).max(50).optional(),
    remove_labels: z.array(labelSchema).max(50).optional(),
    delete: z
      .literal(true)
      .optional()
      .openapi({ description: 'Like DELETE: moves to Trash; deletes permanently from Trash.' }),
  })
  .openapi('MessageBatch');
export const batchAnswerSchema = z
  .object({
    results: z.array(z.object({ id: z.string(), status: z.enum(['updated', 'unchanged', 'deleted', 'not_found']) })),
    progress: z
      .number()
      .min(0)
      .max(1)
      .openapi({ description: 'The part of the mailbox, by time, that is done.', example: 1 }),
    next_cursor: z.string().nullable(),
  })
  .openapi('MessageBatchAnswer');

export type Folder = z.infer<typeof folderSchema>;
export type Summary = z.infer<typeof summarySchema>;
export type Message = z.infer<typeof messageSchema>;
export type MessagePatchRequest = z.infer<typeof messagePatchSchema>;
