/** Schemas and JSON of operators, for their API. */
import { z } from '@hono/zod-openapi';
import { proofSchema, turnstileSchema } from '../../shared/web/challenge-solution.ts';
import { isCommonPassword } from '../../shared/web/common-passwords.ts';
import { authenticationResponseSchema } from '../../shared/web/passkey-json.ts';
import { OPERATOR_ROLES, type OperatorRole } from '../domain/operator-roles.ts';
import { toOtpAuthUrl } from '../secrets/totp.ts';
import type { OperatorRow } from '../store/operator-store.ts';

export const OPERATOR_TAGS = { tags: ['identity'] };

/**
 * Minimum length of an operator's password. NIST SP 800-63B asks for 8 characters with a second factor. Operators reach the data of
 * all users, so this is 12.
 */
export const operatorPasswordSchema = z
  .string()
  .min(12)
  .max(256)
  .refine((password) => !isCommonPassword(password), 'is too common: choose another one');
export const operatorLoginSchema = z
  .string()
  .regex(/^[A-Za-z0-9+=,.@_-]{1,128}$/, 'must be 1 to 128 letters, digits or characters of + = , . @ _ -');
export const roleSchema = z.enum(OPERATOR_ROLES);
/** Members of a request that logs an operator in or confirms an operator's action: the password and one second factor. */
export const OPERATOR_CONFIRMATION = {
  password: z.string().max(256),
  totp: z
    .string()
    .regex(/^\d{6}$/)
    .optional(),
  passkey: authenticationResponseSchema.optional(),
};

/** Members of a login that solve a challenge. */
export const OPERATOR_SOLUTION = { turnstile: turnstileSchema.optional(), proof: proofSchema.optional() };

export const operatorSchema = z
  .object({ operator_id: z.string(), login: z.string(), name: z.string(), role: roleSchema, created_at: z.string() })
  .openapi('Operator');
export const operatorSessionSchema = z.object({ operator: operatorSchema, token: z.string(), expires_at: z.string() });
const seedSchema = z.object({ secret: z.string(), otpauth_url: z.string() });
export const newOperatorSchema = operatorSchema.extend({ totp: seedSchema }).openapi('NewOperator');
export const changedOperatorSchema = operatorSchema.extend({ totp: seedSchema.optional() }).openapi('ChangedOperator');
export const operatorParam = { params: z.object({ operator_id: z.string().max(100) }) };

export const toRole = (role: string): OperatorRole => roleSchema.parse(role);
export const toTime = (epochMs: number): string => new Date(epochMs).toISOString();
export const toOperatorJson = (row: OperatorRow) => ({
  operator_id: row.operatorId,
  login: row.login,
  name: row.name,
  role: toRole(row.role),
  created_at: toTime(row.createdAt),
});
export const toSeedJson = (seed: string, login: string) => ({ secret: seed, otpauth_url: toOtpAuthUrl(seed, login) });
export const toOperatorTarget = (id: string) => ({ type: 'operator', id }) as const;
