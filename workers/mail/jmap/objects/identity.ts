/**
 * Identities (RFC 8621 §6): one for each address of the user, but for masked ones, also at the aliases of its domain,
 * and identities that clients added.
 * What clients change is stored in a setting of the mailbox. The text signature of the first address is also the app's signature.
 */

import { createHash } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import type { MailboxSettings, StoredIdentity } from '../../../../durable-objects/mail/contract/mailbox.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { parseMailPath, withoutTag } from '../../domain/mail-path.ts';
import { listSenders } from '../../store/address-store.ts';
import { listOpenMasked } from '../../store/masked-store.ts';
import { type Arguments, type Call, type MethodError, toMethodError } from '../protocol/method.ts';

export const IDENTITY_PROPERTIES = [
  'id',
  'name',
  'email',
  'replyTo',
  'bcc',
  'textSignature',
  'htmlSignature',
  'mayDelete',
] as const;

const addressesSchema = z
  .array(z.strictObject({ name: z.string().max(200).nullable().default(null), email: z.email().max(254) }))
  .max(50)
  .nullable();
const SIGNATURE_LENGTH_MAX = 10_000;
/** Members of an identity that a client may set. */
export const identitySchema = z.strictObject({
  name: z.string().max(200).optional(),
  email: z.string().max(254).optional(),
  replyTo: addressesSchema.optional(),
  bcc: addressesSchema.optional(),
  textSignature: z.string().max(SIGNATURE_LENGTH_MAX).optional(),
  htmlSignature: z.string().max(SIGNATURE_LENGTH_MAX).optional(),
});

export interface Identity extends Arguments {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly replyTo: readonly { readonly name: string | null; readonly email: string }[] | null;
  readonly bcc: readonly { readonly name: string | null; readonly email: string }[] | null;
  readonly textSignature: string;
  readonly htmlSignature: string;
  readonly mayDelete: boolean;
}

export interface Identities {
  readonly state: string;
  readonly settings: MailboxSettings;
  /** The user's addresses, masked ones last. The first is the one that the account was registered with. */
  readonly addresses: readonly string[];
  readonly list: readonly Identity[];
}

/** @returns the id of an address's identity. The same address always has the same id. */
export const toIdentityId = (email: string): string =>
  `a${createHash('sha256').update(email.toLowerCase()).digest('hex').slice(0, 20)}`;

export async function readIdentities(call: Call): Promise<Result<Identities, MethodError>> {
  const [profile, listed, masked] = await Promise.all([
    call.ask((mailbox) => mailbox.readProfile()),
    listSenders(call.env, call.user.userId),
    listOpenMasked(call.env, call.user.userId),
  ]);
  if (!profile.ok) return err(toMethodError(profile.error));
  const { state, settings } = profile.value;
  const stored = new Map(settings.identities.map((identity) => [identity.id, identity]));
  const addresses = [...listed, ...masked];
  const own = listed.map((email, at): Identity => {
    const id = toIdentityId(email);
    const identity = toIdentity(stored.get(id) ?? { id, email, name: call.user.name }, false);
    return at === 0 ? { ...identity, textSignature: settings.signature } : identity;
  });
  const added = settings.identities
    .filter(({ isAdded, email }) => isAdded === true && isOwn(addresses, email))
    .map((identity) => toIdentity(identity, true));
  return ok({ state, settings, addresses, list: [...own, ...added] });
}

const toIdentity = (identity: StoredIdentity, mayDelete: boolean): Identity => ({
  id: identity.id,
  name: identity.name ?? '',
  email: identity.email,
  replyTo: identity.replyTo ?? null,
  bcc: identity.bcc ?? null,
  textSignature: identity.textSignature ?? '',
  htmlSignature: identity.htmlSignature ?? '',
  mayDelete,
});

/** True if the address is one of the user's, with or without a `+tag`. */
export function isOwn(addresses: readonly string[], email: string): boolean {
  const path = parseMailPath(email.toLowerCase());
  return path !== null && [path.email, withoutTag(path)].some((each) => each !== null && addresses.includes(each));
}
