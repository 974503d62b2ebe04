/**
 * Addresses of accounts of this service: ASCII in lower case, with a plain local part. Foreign addresses may use all of RFC 5321.
 */
import { type MailPath, withoutTag } from './mail-path.ts';

/**
 * Local parts that are reserved for the operator, without dots, hyphens and underscores. People and programs trust mail from them.
 *
 * Certificate authorities mail proofs of control of the domain to the names of the first line (CA/Browser Forum Baseline
 * Requirements §3.2.2.4.4), and formerly to those of the second line.
 */
const OPERATOR_NAMES = new Set(
  [
    'admin administrator webmaster hostmaster postmaster',
    'root sysadmin ssladmin ssladministrator sslwebmaster is it mis administrador',
    // Names of RFC 2142 §3 to §5.
    'info marketing sales support abuse noc security usenet news www uucp ftp',
    // Names of automatic mail and of service desks.
    'noreply mailerdaemon daemon bounce bounces billing helpdesk',
    // Names in which a stranger could ask a company's people for money or passwords.
    'hr ceo cfo payments payroll accounting finance itsupport',
  ].flatMap((names) => names.split(' ')),
);

/** Compares names without separators, because people read `post.master` and `webmaster-` as the reserved names. */
const isOperatorName = (local: string): boolean => OPERATOR_NAMES.has(local.replace(/[._-]/g, ''));

export interface OwnAddress {
  readonly email: string;
  readonly local: string;
  readonly domain: string;
}

/**
 * @returns the address in lower case, or why it cannot belong to an account. An address with `+` cannot, because `+` begins a tag.
 */
export function parseOwnAddress(text: string): OwnAddress | 'bad_address' | 'reserved' {
  const email = text.trim().toLowerCase();
  const match = /^([a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?)@([a-z0-9.-]{1,253})$/.exec(email);
  const [, local = '', domain = ''] = match ?? [];
  if (!match || local.includes('..')) return 'bad_address';
  return isOperatorName(local) ? 'reserved' : { email, local, domain };
}

/** Limit of characters before the `*`. Each possible prefix is a value of the query that finds the recipient. */
const WILDCARD_LENGTH_MAX = 40;

/**
 * Parses a wildcard. `sales-*@example.test` matches all addresses whose local part begins with `sales-`. At least one character
 * must be before `*`; for a whole domain, there is the catch-all.
 */
export function parseWildcard(text: string): OwnAddress | null {
  const match = /^([a-z0-9][a-z0-9._-]*\*)@([a-z0-9.-]{1,253})$/.exec(text.trim().toLowerCase());
  const [email, local = '', domain = ''] = match ?? [];
  return email === undefined || local.length > WILDCARD_LENGTH_MAX + 1 ? null : { email, local, domain };
}

/** @returns the wildcards that match an address, the longest first. */
function listWildcards({ local, domain }: { readonly local: string; readonly domain: string }): string[] {
  const start = local.toLowerCase().slice(0, WILDCARD_LENGTH_MAX);
  return Array.from(start, (_, at) => `${start.slice(0, start.length - at)}*@${domain}`);
}

/**
 * The addresses of precedence over all others that may receive mail to a path: itself, and itself without its tag. Only one of
 * them can be issued, because no account has an address with a `+`, and it is issued to one account for ever.
 */
export const listExactReceivers = (path: MailPath): string[] =>
  [path.email, withoutTag(path) ?? []].flat().map((email) => email.toLowerCase());

/**
 * Addresses that may receive mail to a path, in order of precedence: the first one that exists receives it.
 * @param main the domain that the path's domain is an alias of, or the same domain.
 */
export function listReceivers(path: MailPath, main: string): string[] {
  const isAlias = main !== path.domain;
  const paths = isAlias ? [path, { ...path, domain: main, email: `${path.local}@${main}` }] : [path];
  return paths
    .flatMap((each) => [...listExactReceivers(each), ...listWildcards(each)])
    .map((email) => email.toLowerCase());
}

/** Converts an address of a JSON request, whose name is optional, to one with a name. */
export const toAddress = (address: { readonly name?: string | undefined; readonly email: string }) => ({
  name: address.name ?? '',
  email: address.email,
});
