/** Addresses of accounts here: ASCII, lower-cased, with a plain local part. Foreign addresses may use all of RFC 5321. */

/** RFC 2142 names, reserved for the operator. */
const OPERATOR_NAMES = new Set([
  'postmaster',
  'abuse',
  'admin',
  'administrator',
  'hostmaster',
  'webmaster',
  'security',
  'root',
  'noreply',
  'no-reply',
  'mailer-daemon',
]);

export interface OwnAddress {
  readonly email: string;
  readonly local: string;
  readonly domain: string;
}

/** @returns the lower-cased address, or why it cannot belong to an account. `+` is reserved for tags, so no account has it. */
export function parseOwnAddress(text: string): OwnAddress | 'bad_address' | 'reserved' {
  const email = text.trim().toLowerCase();
  const match = /^([a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?)@([a-z0-9.-]{1,253})$/.exec(email);
  const [, local = '', domain = ''] = match ?? [];
  if (!match || local.includes('..')) return 'bad_address';
  return OPERATOR_NAMES.has(local) ? 'reserved' : { email, local, domain };
}

/** Converts an address of a JSON request, where the name is optional, to the form of a mailbox. */
export const toAddress = (address: { readonly name?: string | undefined; readonly email: string }) => ({
  name: address.name ?? '',
  email: address.email,
});
