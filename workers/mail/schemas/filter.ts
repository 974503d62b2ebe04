/** JSON schemas of filters. */
import { z } from '@hono/zod-openapi';
import { PLAIN_ACTIONS, TEXT_OPERATORS } from '../domain/filter-rule.ts';
import { labelSchema } from './message.ts';

const textOperator = z.enum(TEXT_OPERATORS);
const text = z.string().max(500).regex(/\S/, 'must not be blank');
const headerName = z.string().regex(/^[!-9;-~]{1,100}$/, 'must be the name of a header field');
const negate = z.boolean().optional();

const conditionSchema = z.union([
  z.strictObject({ field: z.enum(['from', 'to', 'subject', 'body']), operator: textOperator, value: text, negate }),
  z.strictObject({ field: z.literal('header'), header_name: headerName, operator: textOperator, value: text, negate }),
  // `exists` tests only that the field is there. A value is accepted and ignored.
  z.strictObject({
    field: z.literal('header'),
    header_name: headerName,
    operator: z.literal('exists'),
    value: z.string().max(500).optional(),
    negate,
  }),
  z.strictObject({
    field: z.literal('size'),
    operator: z.enum(['larger', 'smaller']),
    bytes: z.int().min(0).max(1_000_000_000),
    negate,
  }),
  z.strictObject({ field: z.literal('has_attachment'), negate }),
]);

const actionSchema = z.union([
  z.strictObject({ type: z.literal('move'), folder_id: z.string().max(100) }),
  z.strictObject({ type: z.literal('label'), label: labelSchema }),
  z.strictObject({ type: z.literal('forward'), to: z.email().max(254) }),
  z.strictObject({ type: z.enum(PLAIN_ACTIONS) }),
]);

export const filterSchema = z
  .strictObject({
    name: z.string().trim().min(1).max(100),
    enabled: z.boolean().default(true),
    match: z.enum(['all', 'any']).default('all'),
    conditions: z.array(conditionSchema).max(50),
    actions: z.array(actionSchema).min(1).max(20),
    position: z
      .int()
      .min(0)
      .max(1_000)
      .optional()
      .openapi({ description: 'Position in the order, from 0. A new filter goes last.' }),
  })
  .openapi('FilterRequest');

export const filterAnswerSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    enabled: z.boolean(),
    match: z.enum(['all', 'any']),
    conditions: z.array(conditionSchema),
    actions: z.array(actionSchema),
  })
  .openapi('Filter');

export const vacationSchema = z
  .strictObject({
    enabled: z.boolean(),
    subject: z
      .string()
      .max(200)
      .regex(/^[^\p{Cc}]*$/u, 'must not have control characters')
      .default(''),
    body: z.string().max(10_000).default(''),
    starts_at: z.iso.datetime({ offset: true }).nullable().default(null),
    ends_at: z.iso.datetime({ offset: true }).nullable().default(null),
  })
  .openapi('Vacation');

export const contactSchema = z
  .strictObject({
    name: z
      .string()
      .trim()
      .max(200)
      .regex(/^[^\p{Cc}]*$/u, 'must not have control characters')
      .default(''),
    email: z.email().max(254),
    note: z.string().max(2_000).default(''),
  })
  .openapi('ContactRequest');

export const contactAnswerSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string(),
    note: z.string(),
    is_saved: z.boolean(),
    sent_count: z.int(),
    last_sent_at: z.string().nullable(),
  })
  .openapi('Contact');
