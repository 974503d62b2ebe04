/** JSON schemas of accounts. */
import { z } from '@hono/zod-openapi';
import { displayNameSchema } from '../../shared/json/display-name.ts';
import { proofSchema, turnstileSchema } from '../../shared/web/challenge-solution.ts';
import { isCommonPassword } from '../../shared/web/common-passwords.ts';
import { authenticationResponseSchema } from '../../shared/web/passkey-json.ts';

/**
 * Minimum and maximum length of a password. NIST SP 800-63B requires a minimum of at least 8 and a maximum of at least 64
 * characters.
 */
const PASSWORD_LENGTH_MIN = 8;
const PASSWORD_LENGTH_MAX = 256;

/** A new password. Every route that sets a password uses this schema. */
export const passwordSchema = z
  .string()
  .min(PASSWORD_LENGTH_MIN)
  .max(PASSWORD_LENGTH_MAX)
  .refine((password) => !isCommonPassword(password), 'is too common: choose another one');
export const nameSchema = displayNameSchema(
  z
    .string()
    .trim()
    .min(1)
    .max(128)
    .regex(/^[^\p{Cc}]*$/u, 'must not have control characters'),
);

export const registerSchema = z
  .strictObject({
    email: z.string().max(320),
    password: passwordSchema,
    name: nameSchema,
    invite: z.string().max(200).optional(),
    turnstile: turnstileSchema.optional(),
  })
  .openapi('Register');

export const loginSchema = z
  .strictObject({
    email: z.string().max(320),
    password: z.string().max(PASSWORD_LENGTH_MAX),
    totp: z
      .string()
      .regex(/^\d{6}$/)
      .optional(),
    recovery_code: z.string().max(40).optional(),
    turnstile: turnstileSchema.optional(),
    proof: proofSchema.optional(),
    mailed_code: z.string().max(40).optional(),
    passkey: authenticationResponseSchema.optional(),
  })
  .openapi('Login');

export const profileSchema = z
  .object({
    user_id: z.string(),
    email: z.string(),
    name: z.string(),
    account_type: z.enum(['personal', 'business']),
    quota: z.object({ used_bytes: z.int(), limit_bytes: z.int() }),
    attachment_limit_bytes: z.int().openapi({ description: 'All files of one message, decoded.' }),
    outside_attachment_limit_bytes: z
      .int()
      .openapi({ description: 'The same for mail to other servers, by the way that it takes.' }),
    signature: z.string(),
    addresses: z.array(z.string()),
    totp_enabled: z.boolean(),
    recovery_codes_left: z.int(),
    recovery_address: z.string().nullable(),
    has_password: z.boolean(),
    password_needs_passkey: z.boolean(),
    security_review: z.boolean().openapi({ description: 'Whether `GET /v1/me/security-review` waits for the user' }),
    mail_programs: z.object({ host: z.string(), imap_port: z.int(), submission_port: z.int() }).nullable().openapi({
      description: 'The bridge that programs of IMAP and SMTP use, both over TLS; null if none is offered.',
    }),
    state: z.string(),
    created_at: z.string(),
  })
  .openapi('Profile');

export const sessionAnswerSchema = z
  .object({ user: profileSchema, token: z.string(), expires_at: z.string() })
  .openapi('SessionAnswer');

export type Profile = z.infer<typeof profileSchema>;
export type Register = z.infer<typeof registerSchema>;
export type Login = z.infer<typeof loginSchema>;
