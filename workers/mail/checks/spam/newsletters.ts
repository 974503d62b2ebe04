/**
 * A newsletter of an authenticated sender stays in the Inbox, with a label, if its spam score is only slightly too high. There is
 * no such exception for unauthenticated mail.
 */
import { headerValue } from '../../mime/mime-tree.ts';
import type { Authentication, SpamVerdict } from '../verdicts.ts';
import { type MessageText, readMessageText } from './message-text.ts';

/** Label of newsletters that stay in the Inbox. */
export const NEWSLETTER_LABEL = 'Newsletters';
/** From this score on, mail goes to Junk even if it is an authenticated newsletter. */
export const NEWSLETTER_SCORE_MAX = 6;

const LEAVING_LINK =
  /unsub|opt-?out|remove|preferences|subscription|abmeld|abbestell|d[eé]sabonn|d[eé]sinscri|cancel|baja|disiscri|afmeld/i;
const LEAVING_TEXT =
  /\bunsubscrib\w*|\bto be removed\b|\bopt[ -]?out\b|\bsubscription\b|\babbestell\w*|\babmeld\w*|\bd[ée]sabonn\w*|\bd[ée]sinscri\w*/i;

/**
 * @returns the verdict `ham` with a reason if the message is a newsletter whose From passed DMARC and whose score is below the
 * limit; null for any other message. Mail that the user's own training calls junk stays junk.
 */
export function spareNewsletter(
  spam: SpamVerdict,
  authentication: Authentication,
  raw: Uint8Array,
): SpamVerdict | null {
  const isGrey = spam.engine === 'built-in' && spam.verdict === 'junk' && spam.score < NEWSLETTER_SCORE_MAX;
  const isProven = authentication.dmarc.result === 'pass' && (authentication.sender?.address ?? null) !== null;
  const isMarked = spam.reasons.some(({ rule, score }) => rule === 'YOUR_TRAINING' && score > 0);
  if (!isGrey || !isProven || isMarked || !isNewsletter(readMessageText(raw))) return null;
  const reason = {
    rule: 'NEWSLETTER',
    score: 0,
    text: `A newsletter that ${authentication.dmarc.domain} authenticates`,
  };
  return { ...spam, verdict: 'ham', reasons: [...spam.reasons, reason] };
}

/** True if the message has list or bulk headers, or a text or link that offers to leave a list. */
export function isNewsletter({ headers, links, text }: MessageText): boolean {
  if (['list-unsubscribe', 'list-id', 'list-post'].some((name) => headerValue(headers, name) !== '')) return true;
  if (/^\s*(?:bulk|list)\b/i.test(headerValue(headers, 'precedence'))) return true;
  return LEAVING_TEXT.test(text) || links.some((link) => LEAVING_LINK.test(link.href) || LEAVING_LINK.test(link.text));
}
