/** What the header of a message alone decides. Pure. */

/** RFC 5321 §6.3 asks for at least 100 hops to be allowed only if nothing better is known; no honest path has 50. */
const RECEIVED_MAX = 50;

export interface HeaderRefusal {
  readonly smtpCode: number;
  readonly detail: string;
}

/** @param head the first bytes of the message, as Latin-1. @returns null when there is nothing to say against it. */
export function decideHeader(head: string): HeaderRefusal | null {
  const header = head.split(/\r?\n\r?\n/, 1)[0] ?? '';
  if (head.length === 0) return { smtpCode: 554, detail: '5.6.0 the message is empty' };
  const received = header.match(/^received:/gim)?.length ?? 0;
  if (received > RECEIVED_MAX) return { smtpCode: 554, detail: '5.4.6 too many hops: this message goes in a circle' };
  return null;
}
