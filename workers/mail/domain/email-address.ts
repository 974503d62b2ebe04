/** Addresses of our own accounts: ASCII, lower-cased, a plain local part. Other people's may be anything RFC 5321 allows. */

/** RFC 2142 names that belong to whoever runs the service. */
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

/** @returns the address lower-cased, or why it cannot be an account's. `+` is for tags of an address, so no account has it. */
export function parseOwnAddress(text: string): OwnAddress | 'bad_address' | 'reserved' {
  const email = text.trim().toLowerCase();
  const match = /^([a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?)@([a-z0-9.-]{1,253})$/.exec(email);
  const [, local = '', domain = ''] = match ?? [];
  if (!match || local.includes('..')) return 'bad_address';
  return OPERATOR_NAMES.has(local) ? 'reserved' : { email, local, domain };
}

/** An address of a JSON request, where the name is optional, as a mailbox keeps it. */
export const toAddress = (address: { readonly name?: string | undefined; readonly email: string }) => ({
  name: address.name ?? '',
  email: address.email,
});
