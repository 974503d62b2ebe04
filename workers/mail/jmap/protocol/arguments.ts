/** Schemas of arguments that several methods have (RFC 8620 §5). */
import { z } from '@hono/zod-openapi';
import { CHANGES_LIMIT_MAX, PROPERTIES_PER_CALL_MAX, SORT_PROPERTIES_MAX } from './limits.ts';

/**
 * Schema of ids. RFC 8620 §1.2 allows 1 to 255 characters; a creation id has `#` before it. Up to 1,000 characters are accepted, so
 * that an invalid id is answered as not found instead of as an invalid argument.
 */
export const idSchema = z.string().min(1).max(1_000);
const UINT_MAX = Number.MAX_SAFE_INTEGER;
export const uintSchema = z.int().min(0).max(UINT_MAX);
export const intSchema = z.int().min(-UINT_MAX).max(UINT_MAX);
/** Schema of a time in UTC (RFC 8620 §1.4). */
export const utcDateSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/)
  .refine((text) => Number.isFinite(Date.parse(text)), 'must be a time');
export const accountArguments = { accountId: z.string() };

/** Names of properties. Their number is limited, because each one may repeat a long header field. */
export const propertiesSchema = z.array(z.string()).max(PROPERTIES_PER_CALL_MAX).nullable().default(null);

export const getArguments = {
  ...accountArguments,
  ids: z.array(idSchema).nullable().default(null),
  properties: propertiesSchema,
};
export const changesArguments = {
  ...accountArguments,
  sinceState: z.string(),
  maxChanges: z.int().min(1).max(UINT_MAX).nullable().default(null),
};
const objectSchema = z.record(z.string(), z.unknown());
/** New objects by creation id. RFC 8620 §1.2 limits an id to 255 characters. */
export const creationsSchema = z.record(z.string().max(255), objectSchema);
export const setArguments = {
  ...accountArguments,
  ifInState: z.string().nullable().default(null),
  create: creationsSchema.nullable().default(null),
  update: z.record(z.string(), objectSchema).nullable().default(null),
  destroy: z.array(idSchema).nullable().default(null),
};
export const comparatorArguments = {
  property: z.string(),
  isAscending: z.boolean().default(true),
  /** RFC 8620 §5.5 allows no null, but meli sends it for no collation. */
  collation: z.string().nullish(),
};
const sortSchema = z.array(z.looseObject(comparatorArguments)).max(SORT_PROPERTIES_MAX).nullable().default(null);
export const queryArguments = {
  ...accountArguments,
  filter: objectSchema.nullable().default(null),
  sort: sortSchema,
  position: intSchema.default(0),
  anchor: idSchema.nullable().default(null),
  anchorOffset: intSchema.default(0),
  limit: uintSchema.nullable().default(null),
  calculateTotal: z.boolean().default(false),
};
export const queryChangesArguments = {
  ...accountArguments,
  filter: objectSchema.nullable().default(null),
  sort: sortSchema,
  sinceQueryState: z.string(),
  maxChanges: z.int().min(1).max(UINT_MAX).nullable().default(null),
  upToId: idSchema.nullable().default(null),
  calculateTotal: z.boolean().default(false),
};

export const toChangesLimit = (asked: number | null): number => Math.min(asked ?? CHANGES_LIMIT_MAX, CHANGES_LIMIT_MAX);

/** Arguments about body values, of Email/get and Email/parse (RFC 8621 §4.2). */
export const bodyArguments = {
  bodyProperties: propertiesSchema,
  fetchTextBodyValues: z.boolean().default(false),
  fetchHTMLBodyValues: z.boolean().default(false),
  fetchAllBodyValues: z.boolean().default(false),
  maxBodyValueBytes: uintSchema.default(0),
};
