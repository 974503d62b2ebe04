/** JSON of passkeys: the JSON forms of WebAuthn Level 3 §5.1.8 and §5.1.9, and the stored passkey. */
import { z } from '@hono/zod-openapi';

const base64Url = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[\w-]*$/);
const credentialMembers = {
  id: base64Url(1400).min(1),
  rawId: base64Url(1400).min(1),
  type: z.literal('public-key'),
  authenticatorAttachment: z.enum(['platform', 'cross-platform']).optional(),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
};

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;

export const registrationResponseSchema = z
  .strictObject({
    ...credentialMembers,
    response: z.strictObject({
      clientDataJSON: base64Url(4000),
      attestationObject: base64Url(16_000),
      authenticatorData: base64Url(8000).optional(),
      transports: z.array(z.enum(TRANSPORTS)).max(10).optional(),
      publicKeyAlgorithm: z.int().optional(),
      publicKey: base64Url(4000).optional(),
    }),
  })
  .openapi('PasskeyRegistration');

export const authenticationResponseSchema = z
  .strictObject({
    ...credentialMembers,
    response: z.strictObject({
      clientDataJSON: base64Url(4000),
      authenticatorData: base64Url(4000),
      signature: base64Url(4000),
      userHandle: base64Url(100).optional(),
    }),
  })
  .openapi('PasskeyAssertion');

export const passkeySchema = z
  .object({
    passkey_id: z.string(),
    name: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
  })
  .openapi('Passkey');

const descriptorSchema = z.object({
  id: z.string(),
  type: z.literal('public-key'),
  transports: z.array(z.string()).optional(),
});

/** Schema of the options for `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export const creationOptionsSchema = z
  .object({
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    challenge: z.string(),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int(),
    excludeCredentials: z.array(descriptorSchema),
    authenticatorSelection: z.looseObject({ residentKey: z.string(), userVerification: z.string() }),
    attestation: z.string(),
  })
  .loose()
  .openapi('PasskeyCreationOptions');

/** Schema of the options for `PublicKeyCredential.parseRequestOptionsFromJSON`. */
export const requestOptionsSchema = z
  .object({ challenge: z.string(), rpId: z.string(), timeout: z.int(), userVerification: z.string() })
  .loose()
  .openapi('PasskeyRequestOptions');

export type Passkey = z.infer<typeof passkeySchema>;

export const passkeyParams = z.object({ passkey_id: z.string().max(1400) });

/** A stored passkey. Times are milliseconds since 1970 UTC. */
interface StoredPasskey {
  readonly passkeyId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

export const toPasskeyJson = ({ passkeyId, name, createdAt, lastUsedAt }: StoredPasskey): Passkey => ({
  passkey_id: passkeyId,
  name,
  created_at: new Date(createdAt).toISOString(),
  last_used_at: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString(),
});
