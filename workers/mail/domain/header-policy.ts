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

/** @param head the first bytes of the message, as Latin-1. @returns the refusal; null if there is no reason to refuse. */
export function decideHeader(head: string): HeaderRefusal | null {
  const header = head.split(/\r?\n\r?\n/, 1)[0] ?? '';
  if (head.length === 0) return { smtpCode: 554, detail: '5.6.0 empty message' };
  if ([...header.matchAll(/^received:/gim)].length > RECEIVED_MAX)
    return { smtpCode: 554, detail: '5.4.6 too many hops, mail loop detected' };
  return null;
}
