/** Converts masked addresses to `MaskedEmail` (https://www.fastmail.com/developer/maskedemail). */
import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { CHOSEN_STATES } from '../../domain/masked-state.ts';
import type { MaskedAddress } from '../../store/masked-store.ts';
import type { Arguments } from '../protocol/method.ts';
import { toUtcDate } from './email.ts';

export const MASKED_PROPERTIES = [
  'id',
  'email',
  'state',
  'forDomain',
  'description',
  'lastMessageAt',
  'createdAt',
  'createdBy',
  'url',
] as const;

/** Members that a client may set. Password managers send the origin of a site, or nothing, as `forDomain`; others send any text. */
const members = {
  forDomain: z.string().max(300),
  description: z.string().max(200),
  url: z.string().max(2_000).nullable(),
};
export const maskedCreateSchema = z.strictObject({
  state: z.enum(['pending', 'enabled', 'disabled']).default('pending'),
  forDomain: members.forDomain.default(''),
  description: members.description.default(''),
  url: members.url.default(null),
  emailPrefix: z
    .string()
    .max(64)
    .regex(/^[a-z0-9_]*$/)
    .nullable()
    .default(null),
});
export const maskedPatchSchema = z.strictObject({ state: z.enum(CHOSEN_STATES), ...members }).partial();

/** @returns the id of an address. The same address always has the same id. */
const toMaskedId = (email: string): string => `m${createHash('sha256').update(email).digest('hex').slice(0, 24)}`;

export interface MaskedEmail extends Arguments {
  readonly id: string;
  readonly email: string;
}

export const toMaskedEmail = (row: MaskedAddress): MaskedEmail => ({
  id: toMaskedId(row.email),
  email: row.email,
  state: row.state,
  forDomain: row.forDomain,
  description: row.note,
  lastMessageAt: row.lastMessageAt === null ? null : toUtcDate(row.lastMessageAt),
  createdAt: toUtcDate(row.createdAt),
  createdBy: row.createdBy,
  url: row.url,
});

/** @returns the state of all masked addresses: a hash, because the change log has none of them. */
export const toMaskedState = (objects: readonly MaskedEmail[]): string =>
  createHash('sha256').update(JSON.stringify(objects)).digest('hex').slice(0, 16);
