/**
 * Addresses as SMTP transmits them (RFC 5321 §4.1.2): any valid address in ASCII. A domain in another script is converted to
 * A-labels. A local part in another script needs SMTPUTF8, which is not supported, so no mail can be sent to it. Pure.
 */

export interface MailPath {
  readonly local: string;
  /** Domain in lower case, in A-labels. */
  readonly domain: string;
  /** The whole address, as it is sent between the angle brackets. */
  readonly email: string;
}

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const DOT_STRING = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`);
/**
 * Pattern of a quoted local part, without spaces and angle brackets. Some servers would end a path at such a character and read the
 * rest as parameters.
 */
const QUOTED_STRING = /^"(?:[!#-;=?-[\]-~]|\\[!-;=?-~])*"$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Maximum lengths in octets (RFC 5321 §4.5.3.1). */
const LOCAL_LENGTH_MAX = 64;
const PATH_LENGTH_MAX = 254;

/** Parses an address. Address literals (`[192.0.2.1]`) are not supported. @returns null for an invalid address. */
export function parseMailPath(text: string): MailPath | null {
  const [, local = '', written = ''] = /^(.*)@([^@]*)$/s.exec(text) ?? [];
  const domain = toAsciiDomain(written);
  if (domain === null || local.length > LOCAL_LENGTH_MAX) return null;
  if (!DOT_STRING.test(local) && !QUOTED_STRING.test(local)) return null;
  const email = `${local}@${domain}`;
  return email.length > PATH_LENGTH_MAX ? null : { local, domain, email };
}

/** Converts a domain to lower-case A-labels. @returns null if it is invalid or has no dot. */
export function toAsciiDomain(domain: string): string | null {
  let ascii = domain.toLowerCase();
  if (/[^ -~]/.test(ascii)) {
    // Such characters would end the host of a URL, or a URL parser would decode them.
    if (/[^a-z0-9.\u0080-\u{10ffff}-]/u.test(ascii)) return null;
    try {
      ascii = new URL(`http://${ascii}/`).hostname;
    } catch {
      return null;
    }
  }
  const labels = ascii.replace(/\.$/, '').split('.');
  const isName = labels.length >= 2 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  return isName && ascii.length <= 253 ? labels.join('.') : null;
}

/** @returns the address without its `+tag`; null if it has no tag. */
export function withoutTag(path: MailPath): string | null {
  const plus = path.local.indexOf('+');
  return plus > 0 ? `${path.local.slice(0, plus)}@${path.domain}` : null;
}
