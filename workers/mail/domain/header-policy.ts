/** Refuses messages for reasons that the header alone shows. Pure. */

/**
 * Maximum of Received fields. RFC 5321 §6.3 recommends a limit of at least 100 hops for servers without a better loop check. No
 * legitimate path has 50.
 */
const RECEIVED_MAX = 50;

export interface HeaderRefusal {
  readonly smtpCode: number;
  readonly detail: string;
}

const FIELD = /^[!-9;-~]+[ \t]*:/m;
/** An empty From field is accepted, because some programs send it with the null sender. */
const FROM = /^from[ \t]*:/im;

/**
 * @param head the first bytes of the message, as Latin-1.
 * @param sizeBytes size of the whole message.
 * @returns the refusal; null if there is no reason to refuse.
 */
export function decideHeader(head: string, sizeBytes = head.length): HeaderRefusal | null {
  // An empty line ends the header, also if it is the first line.
  const header = /^\r?\n/.test(head) ? '' : (head.split(/\r?\n\r?\n/, 1)[0] ?? '');
  if (!FIELD.test(header)) return { smtpCode: 550, detail: '5.6.0 the message has no header (RFC 5322 §2.1)' };
  if ([...header.matchAll(/^received:/gim)].length > RECEIVED_MAX)
    return { smtpCode: 554, detail: '5.4.6 too many hops, mail loop detected' };
  const isCut = header.length === head.length && head.length < sizeBytes;
  if (!isCut && !FROM.test(header))
    return { smtpCode: 550, detail: '5.6.0 the message has no From field (RFC 5322 §3.6)' };
  return null;
}
