/**
 * Spam rules for the sender: authentication results, and whether the origin is recognisable. Links to the sender's own site suggest
 * a newsletter; spam seldom names its origin.
 */
import { headerValue } from '../../mime/mime-tree.ts';
import type { Authentication, SpamReason } from '../verdicts.ts';
import { FREE_MAIL } from './header-rules.ts';
import { hostOf, type MessageText } from './message-text.ts';

const reason = (rule: string, score: number, text: string): SpamReason => ({ rule, score, text });

export function judgeAuthentication(authentication: Authentication): SpamReason[] {
  const { spf, dkim, dmarc, arc } = authentication;
  const reasons: SpamReason[] = [];
  // A trusted forwarder recorded that the message passed before. A failure now is due to the forwarding.
  if (arc.isTrusted) return [reason('ARC_TRUSTED', -0.5, `${arc.sealers[0]} vouches for the mail it forwarded`)];
  if (dmarc.result === 'pass') reasons.push(reason('DMARC_PASS', -0.5, `${dmarc.domain} authenticates this message`));
  if (dmarc.result === 'fail' && dmarc.disposition === 'reject') {
    reasons.push(reason('DMARC_REJECT', 4, `${dmarc.domain} requests rejection of mail it did not send`));
  } else if (dmarc.result === 'fail' && dmarc.disposition === 'quarantine') {
    reasons.push(reason('DMARC_QUARANTINE', 3, `${dmarc.domain} requests quarantine of mail it did not send`));
  } else if (dmarc.result === 'fail') {
    reasons.push(reason('DMARC_FAIL', 0.5, `${dmarc.domain} does not authenticate this message`));
  }
  if (spf.result === 'fail')
    reasons.push(reason('SPF_FAIL', 1, `${spf.domain} does not allow this client to send for it`));
  if (spf.result === 'softfail')
    reasons.push(reason('SPF_SOFTFAIL', 0.4, `${spf.domain} does not authorize this client (softfail)`));
  const hasPass = dkim.some((signature) => signature.result === 'pass');
  if (!hasPass && dkim.some((signature) => signature.result === 'fail')) {
    reasons.push(reason('DKIM_FAIL', 0.3, 'A DKIM signature does not match'));
  }
  return reasons;
}

/** Judges whether the Message-ID and the links belong to the sender's site. In most spam, neither belongs to the site in From. */
export function judgeSenderSite(message: MessageText): SpamReason[] {
  const site = siteOf(message.from.address.split('@')[1] ?? '');
  const hosts = message.links.map((link) => hostOf(link.href)).filter((host) => host !== '');
  const own = hosts.filter((host) => siteOf(host) === site).length;
  const messageIdHost = /@([^>\s]+)>/.exec(headerValue(message.headers, 'message-id'))?.[1]?.toLowerCase() ?? '';
  const isOwnMessageId = siteOf(messageIdHost) === site;
  if (site !== '' && own === 0 && !isOwnMessageId && !isReply(message) && countPages(message) < MANY_PAGES)
    return [reason('SENDER_UNRELATED', 0.5, 'Neither the Message-ID nor a link belongs to the sender’s domain')];
  if (site === '' || FREE_MAIL.test(message.from.address)) return [];
  const reasons: SpamReason[] = [];
  if (isOwnMessageId) reasons.push(reason('MESSAGE_ID_OF_SENDER', -0.4, 'The Message-ID has the sender’s own domain'));
  if (own > 0 && own >= hosts.length / 3) {
    reasons.push(
      reason('LINKS_TO_SENDER', isOwnMessageId ? -1.2 : -0.7, `The links lead to ${site}, the sender’s own site`),
    );
  }
  if (own >= hosts.length / 3 && countPages(message) >= MANY_PAGES && !isReply(message))
    reasons.push(
      reason('ARTICLES_OF_SENDER', -1.5, `It links to many different pages, a third or more of them of ${site}`),
    );
  if (own >= PUBLISHER_LINKS_MIN && isOwnMessageId)
    reasons.push(reason('PUBLISHER', -3, `The Message-ID and several links belong to ${site}`));
  return reasons;
}

const PUBLISHER_LINKS_MIN = 3;
/** A message that links to at least this many different pages counts as a list of articles. */
const MANY_PAGES = 8;
const countPages = (message: MessageText) => new Set(message.links.map((link) => link.href)).size;
const isReply = (message: MessageText) =>
  message.headers.some(({ name }) => name === 'in-reply-to' || name === 'references');

/**
 * Signs of a newsletter. Many different links, as in a list of articles, count unless the message is a reply; spam wants one click.
 * One-click unsubscription (RFC 8058), which clients offer beside the sender's name, counts unless authentication failed. It still
 * counts if authentication was impossible, as for forwarded mail; otherwise ordinary newsletters would go to Junk.
 */
export function judgePublication(message: MessageText, authentication: Authentication): SpamReason[] {
  const reasons: SpamReason[] = [];
  if (countPages(message) >= MANY_PAGES && !isReply(message))
    reasons.push(reason('MANY_ARTICLES', -3.5, 'It links to many different pages, as newsletters do'));
  const isOneClick = /List-Unsubscribe=One-Click/i.test(headerValue(message.headers, 'list-unsubscribe-post'));
  const { spf, dmarc, arc } = authentication;
  const hasFailed = !arc.isTrusted && (dmarc.result === 'fail' || spf.result === 'fail');
  if (isOneClick && !hasFailed && headerValue(message.headers, 'list-unsubscribe') !== '')
    reasons.push(reason('ONE_CLICK_UNSUBSCRIBE', -2, 'The sender offers one-click unsubscription'));
  return reasons;
}

/**
 * @returns the last two labels of a host, or three if the second is short as in `co.uk`. Good enough for comparison, but not for
 * trust.
 */
function siteOf(host: string): string {
  const labels = host.split('.');
  if (labels.length < 2) return '';
  const hasShortSecond = labels.length > 2 && (labels.at(-2)?.length ?? 0) <= 3;
  return labels.slice(hasShortSecond ? -3 : -2).join('.');
}
