/** Decides which sender is proven by authentication. Senders are recognised by this, never by From alone. Pure. */
import { type HeaderField, headerValue, unfold } from '../../mime/mime-tree.ts';
import { parseAddressList } from '../../mime/parse.ts';
import type { Authentication, ProvenSender } from '../verdicts.ts';
import { decodeRawUtf8, toALabels } from './a-labels.ts';
import { isSameSite } from './dmarc.ts';

/** Identifier of List-Id: in angle brackets at the end of the field (RFC 2919 §3). */
const LIST_ID = /<\s*([^<>\s]{1,255})\s*>\s*$/;

export function findProvenSender(
  headers: readonly HeaderField[],
  authentication: Pick<Authentication, 'spf' | 'dkim' | 'dmarc' | 'arc'>,
): ProvenSender {
  const address = isFromProven(authentication) ? readAuthor(headers, authentication.dmarc.domain) : null;
  return { address, list: findProvenList(headers, authentication, address) };
}

function isFromProven({ spf, dkim, dmarc, arc }: Pick<Authentication, 'spf' | 'dkim' | 'dmarc' | 'arc'>): boolean {
  if (dmarc.domain === '') return false;
  if (dmarc.result === 'pass' || (dmarc.result === 'fail' && arc.isTrusted)) return true;
  // Without a policy, alignment is enough. After any other DMARC result, the author is unknown.
  if (dmarc.result !== 'none') return false;
  const isSpfProof = spf.result === 'pass' && spf.identity === 'mailfrom' && isSameSite(spf.domain, dmarc.domain);
  return isSpfProof || dkim.some((one) => one.result === 'pass' && one.aligned);
}

/** @returns the address in From; null unless From has exactly one address, in the domain that was checked. */
function readAuthor(headers: readonly HeaderField[], domain: string): string | null {
  const fields = headers.filter((field) => field.name === 'from');
  const [author, ...others] = fields.flatMap((field) => parseAddressList(decodeRawUtf8(unfold(field.value))));
  if (author === undefined || others.length > 0 || fields.length !== 1) return null;
  const at = author.email.lastIndexOf('@');
  const found = toALabels(author.email.slice(at + 1).replace(/\.$/, ''));
  return at > 0 && found === domain ? `${author.email.slice(0, at).toLowerCase()}@${found}` : null;
}

function findProvenList(
  headers: readonly HeaderField[],
  { dkim, dmarc }: Pick<Authentication, 'dkim' | 'dmarc'>,
  address: string | null,
): string | null {
  if (headers.filter((field) => field.name === 'list-id').length !== 1) return null;
  const list = toALabels(LIST_ID.exec(headerValue(headers, 'list-id'))?.[1] ?? '');
  const domain = list.slice(list.indexOf('.') + 1);
  if (!list.includes('.') || !domain.includes('.')) return null;
  const owners = [
    ...dkim.filter((one) => one.result === 'pass').map((one) => one.domain),
    ...(address === null ? [] : [dmarc.domain]),
  ];
  return owners.some((owner) => isSameSite(owner, domain)) ? list : null;
}
