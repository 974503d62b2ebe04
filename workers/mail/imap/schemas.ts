/** Requests and answers of `/v1/imap`. */
import { z } from '@hono/zod-openapi';
import { labelSchema } from '../schemas/message.ts';

/** Maximum of messages per request that reads bytes, and of those that change rows. */
export const FETCHED_MAX = 200;
export const CHANGED_MAX = 1_000;
export const LISTED_MAX = 10_000;

const stateSchema = z
  .string()
  .regex(/^\d{1,15}$/)
  .openapi({ description: 'A number of the change log, as a decimal string. Also the space of MODSEQ.' });
const uidSchema = z.int().min(0).max(4_294_967_295);
const idSchema = z.string().min(1).max(100);
const folderKeySchema = z.string().min(1).max(100).openapi({ description: 'Id or role of the folder.' });
const stateMembers = { uid_validity: uidSchema, state: stateSchema };

export const accountSchema = z
  .object({
    user_id: z.string(),
    address: z.string(),
    addresses: z.array(z.string()),
    message_bytes_max: z.int().openapi({ description: 'The largest message that may be appended or submitted.' }),
    ...stateMembers,
    folders: z.array(
      z.object({
        folder_id: z.string(),
        name: z.string().openapi({ description: 'The whole path, with parts separated by "/".' }),
        role: z.enum(['inbox', 'archive', 'drafts', 'junk', 'sent', 'trash']).nullable(),
        total: z.int(),
        unread: z.int(),
        uid_next: uidSchema,
        is_subscribed: z.boolean(),
      }),
    ),
  })
  .openapi('ImapAccount');

const rowSchema = z
  .tuple([uidSchema, z.string(), z.array(z.string()), z.int(), z.int(), z.int()])
  .openapi('ImapMessage', {
    example: [17, '3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21', ['$seen', 'invoices'], 2_048, 1_793_871_000_000, 42],
    description:
      'UID, message id, keywords, size in bytes, time of arrival in milliseconds since 1970, MODSEQ. Keywords are $seen, $flagged, $answered, $forwarded, $draft, $deleted (of the message in this folder) and the labels as they are.',
  });
const rowsSchema = z.array(rowSchema);

export const listQuerySchema = z.strictObject({
  after_uid: z.coerce.number().int().min(0).max(4_294_967_295).default(0),
  limit: z.coerce.number().int().min(1).max(LISTED_MAX).default(LISTED_MAX),
});
export const pageSchema = z
  .object({
    ...stateMembers,
    uid_next: uidSchema,
    messages: rowsSchema,
    next_after_uid: uidSchema
      .nullable()
      .openapi({ description: 'The `after_uid` of the next page. Pages with different `state` do not fit together.' }),
  })
  .openapi('ImapPage');

export const changesQuerySchema = z.strictObject({ since: stateSchema });
export const changesSchema = z
  .object({
    ...stateMembers,
    uid_next: uidSchema,
    resync: z.boolean().openapi({ description: '`since` is too old or of another mailbox: list the folder again.' }),
    messages: rowsSchema.openapi({ description: 'Messages of the folder that were added or changed.' }),
    gone: z.array(z.string()).openapi({ description: 'Ids of changed messages that are not in the folder.' }),
  })
  .openapi('ImapChanges');

const idsSchema = (max: number) => z.array(idSchema).min(1).max(max);

export const fetchSchema = z
  .strictObject({
    folder_id: folderKeySchema.optional(),
    message_ids: idsSchema(FETCHED_MAX),
    want: z
      .array(z.enum(['header', 'structure']))
      .min(1)
      .max(2),
  })
  .openapi('ImapFetch');
export const fetchAnswerSchema = z
  .object({
    messages: z.array(
      z.object({
        message_id: z.string(),
        header: z.string().optional().openapi({ description: 'Base64 of the header with its empty line.' }),
        structure: z.looseObject({}).optional().openapi({
          description:
            'The tree of parts: `type`, `subtype`, `parameters`, `encoding`, `octets`, `lines` and the other fields of BODYSTRUCTURE (RFC 3501 §7.4.2), one character per byte. `start`, `body` and `end` are positions in the raw message. `parts` of a multipart; `message` and `envelope_header` (Base64) of message/rfc822.',
        }),
      }),
    ),
    missing: z.array(z.string()),
  })
  .openapi('ImapFetchAnswer');

export const searchSchema = z
  .strictObject({
    folder_id: folderKeySchema,
    filter: z
      .looseObject({})
      .nullable()
      .default(null)
      .openapi({ description: 'A filter of `Email/query` of JMAP (RFC 8621 §4.4.1); null for every message.' }),
  })
  .openapi('ImapSearch');
export const searchAnswerSchema = z
  .object({ state: stateSchema, message_ids: z.array(z.string()) })
  .openapi('ImapSearchAnswer');

const keywordsSchema = z.array(labelSchema).max(50);
export const flagsSchema = z
  .strictObject({
    folder_id: folderKeySchema,
    message_ids: idsSchema(CHANGED_MAX),
    add: keywordsSchema.default([]),
    remove: keywordsSchema.default([]),
    unchanged_since: stateSchema.optional().openapi({ description: 'Leave messages alone that changed after it.' }),
  })
  .openapi('ImapFlags');
export const flagsAnswerSchema = z
  .object({ ...stateMembers, messages: rowsSchema, modified: z.array(z.string()) })
  .openapi('ImapFlagsAnswer');

export const copySchema = z
  .strictObject({
    from_folder_id: folderKeySchema,
    to_folder_id: folderKeySchema,
    message_ids: idsSchema(CHANGED_MAX),
    move: z.boolean().default(false),
  })
  .openapi('ImapCopy');
export const copyAnswerSchema = z
  .object({
    ...stateMembers,
    copied: z.array(z.tuple([z.string(), uidSchema, uidSchema])).openapi({
      example: [['3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21', 17, 43]],
      description: 'Message id, UID in the first folder, UID in the other.',
    }),
  })
  .openapi('ImapCopyAnswer');

export const expungeSchema = z
  .strictObject({ folder_id: folderKeySchema, message_ids: idsSchema(CHANGED_MAX).nullable() })
  .openapi('ImapExpunge');
export const expungeAnswerSchema = z
  .object({
    ...stateMembers,
    gone: z
      .array(z.tuple([z.string(), uidSchema]))
      .openapi({ example: [['3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21', 17]], description: 'Message id and UID.' }),
  })
  .openapi('ImapExpungeAnswer');

export const appendQuerySchema = z.strictObject({
  folder_id: folderKeySchema,
  keywords: z.string().max(2_000).default('').openapi({ description: 'Keywords, separated by commas.' }),
  received_at: z.coerce
    .number()
    .int()
    .min(0)
    .max(8_640_000_000_000_000)
    .optional()
    .openapi({ description: 'Time of arrival, milliseconds since 1970; now by default, and never later.' }),
});
export const appendAnswerSchema = z
  .object({ ...stateMembers, uid: uidSchema, message_id: z.string() })
  .openapi('ImapAppended');

const addressSchema = z.string().min(3).max(320);
export const submissionQuerySchema = z.strictObject({
  from: addressSchema,
  to: z
    .union([addressSchema, z.array(addressSchema).max(1_000)])
    .openapi({ description: 'A recipient. Repeat it for each.' }),
});
export const submissionAnswerSchema = z
  .object({ message_id: z.string().openapi({ description: 'The message in Sent.' }) })
  .openapi('ImapSubmitted');
