/**
 * Spam rules for what a reader sees and clicks: phrases, links, HTML tricks. Also rules for signs of a conversation, which count in
 * favour of a message.
 */
import { headerValue } from '../../mime/mime-tree.ts';
import type { SpamRule } from './header-rules.ts';
import { hostOf, type MessageText } from './message-text.ts';

const HEAD_CHARACTERS = 20_000;
const visible = (message: MessageText) => message.text.slice(0, HEAD_CHARACTERS);
const phrase = (rule: string, score: number, text: string, pattern: RegExp): SpamRule => ({
  rule,
  score,
  text,
  applies: (message) => pattern.test(`${message.subject}\n${visible(message)}`),
});

const CODE_CHARACTERS_MAX = 400;

export const PHRASE_RULES: readonly SpamRule[] = [
  {
    rule: 'CODE_TO_LOG_IN',
    score: -2.5,
    text: 'Few words, a code and no link',
    applies: ({ text, subject, links }) =>
      links.length === 0 &&
      text.length < CODE_CHARACTERS_MAX &&
      /\b(?:code|pin)\b[^.]{0,40}\b\d{4,8}\b|\b\d{4,8}\b[^.]{0,40}\b(?:code|pin)\b/i.test(`${subject} ${text}`),
  },
  phrase(
    'CLAIMS_A_LAW',
    3,
    'Claims that a law makes this legal mail',
    /\bs\.?\s?1618\b|section\s+301[^a-z]{1,20}(?:paragraph|of)|not be considered spam|cannot be considered spam|this is not spam/i,
  ),
  phrase(
    'CLAIMS_YOU_ASKED',
    0.8,
    'Claims that you subscribed through an affiliate or partner',
    /(?:one of our|an?) (?:marketing )?(?:affiliate|partner)s?[^.]{0,60}(?:sites?|lists?|opt)|you (?:have )?opted?[- ]in/i,
  ),
  phrase(
    'REMOVE_BY_MAIL',
    1.3,
    'Asks you to reply “remove” to stop it',
    /(?:["'“]remove["'”]|type remove|word remove|remove in the subject|subject[^.]{0,30}remove|to be removed from)/i,
  ),
  phrase(
    'MILLIONS_WAITING',
    2.5,
    'Offers a share of millions',
    /million[\s\S]{0,400}\b(?:next of kin|deceased|beneficiary|confidential|your (?:bank )?account|late (?:president|father|husband|general|mr))|\b(?:next of kin|deceased|beneficiary|late (?:president|father|husband|general|mr))[\s\S]{0,400}(?:million|,000,000)/i,
  ),
  phrase(
    'EASY_MONEY',
    1.5,
    'Promises easy money',
    /\b(?:earn|make)\b[^.\n]{0,40}\$\s?\d[\d,]*[^.\n]{0,40}(?:per|a|every|each|in)\s+(?:day|week|month|hour|\d+)|work (?:from|at) home|financial freedom|be your own boss|home[- ]based business|multi-?level|double your money/i,
  ),
  phrase(
    'BULK_FOR_SALE',
    2,
    'Sells bulk mailing',
    /(?:million|bulk|fresh|targeted)[^.\n]{0,30}(?:e-?mail(?:s| address)|email lists?)/i,
  ),
  phrase(
    'CHEAP_CREDIT',
    1.5,
    'Sells loans or debt relief',
    /(?:mortgage|refinanc|home (?:equity )?loan|debt)[^.]{0,80}(?:rates?|quote|approved|consolidat|bad credit|free)|credit (?:card )?(?:repair|problems)|(?:eliminate|reduce) your debts?/i,
  ),
  phrase(
    'PILLS',
    2,
    'Sells pills or body parts',
    /\b(?:v[i1]agra|c[i1]al[i1]s|levitra|phentermine|xanax|valium|hgh|human growth hormone|herbal|penis|erection)\b/i,
  ),
  phrase('DIET', 1, 'Promises weight loss', /\b(?:weight loss|lose weight)\b/i),
  phrase(
    'ADULT_OFFER',
    2,
    'Offers adult content',
    /\b(?:xxx|porn\w*|hardcore|webcams?|live (?:sex|girls)|barely legal|teens? (?:sluts?|girls)|free adult)\b/i,
  ),
  phrase(
    'RISK_FREE',
    1,
    'Promises a risk-free offer',
    /(?:money[- ]back|satisfaction) guarantee|risk[- ]free|no (?:obligation|risk|catch|experience)|100% (?:free|guaranteed|legal)|absolutely free/i,
  ),
  phrase(
    'ACT_NOW',
    0.8,
    'Urges you to hurry',
    /act now|order (?:now|today)|limited time|call (?:now|today|toll)|don'?t (?:miss|delay)|expires (?:soon|today)|while supplies last/i,
  ),
  phrase(
    'LUCKY_WINNER',
    0.8,
    'Says that you have won something',
    /you(?:'ve| have)? (?:been (?:selected|chosen|approved)|won\b)|congratulations[^.]{0,40}(?:won|winner|selected|approved)|claim your (?:prize|free|reward)/i,
  ),
  phrase(
    'ACCOUNT_THREAT',
    1.5,
    'Threatens to close an account unless you follow a link',
    /(?:account|mailbox|password)[^.]{0,60}(?:suspended|limited|locked|deactivated|expire)[^.]{0,150}(?:click|verify|confirm|log ?in)|(?:verify|confirm)[^.]{0,30}(?:your )?(?:account|identity|billing)[^.]{0,120}(?:within|suspen|limit|terminat)/is,
  ),
  phrase(
    'CRYPTO_BLACKMAIL',
    3,
    'Demands cryptocurrency',
    /(?:bitcoin|btc|crypto)[^.]{0,200}(?:webcam|recorded|porn|your contacts|hours)|(?:webcam|recorded you)[^.]{0,300}(?:bitcoin|btc|wallet)/is,
  ),
];

export const LINK_RULES: readonly SpamRule[] = [
  {
    rule: 'LINK_TO_NUMBER',
    score: 2,
    text: 'A link goes to a bare IP address',
    applies: (message) =>
      message.links.some((link) => /^(?:\d{1,3}(?:\.\d{1,3}){3}|\d{8,10}|0x[0-9a-f]+)$/.test(hostOf(link.href))),
  },
  {
    rule: 'LINK_HIDES_HOST',
    score: 2.5,
    text: 'A link hides its host behind a user name or escapes',
    applies: (message) => message.links.some((link) => /^https?:\/\/[^/?#]*(?:@|%[0-9a-f]{2})/i.test(link.href.trim())),
  },
  {
    rule: 'LINK_SHOWS_ANOTHER',
    score: 2,
    text: 'A link shows one site and goes to another',
    applies: (message) => message.links.some((link) => showsAnotherHost(link)),
  },
  {
    rule: 'LINK_ODD_PORT',
    score: 1,
    text: 'A link goes to an unusual port',
    applies: (message) =>
      message.links.some((link) => /^https?:\/\/[^/?#:]+:(?!80\b|443\b|8080\b)\d+/i.test(link.href)),
  },
  {
    rule: 'LINK_TLD_OF_SPAM',
    score: 1,
    text: 'A link goes to a top-level domain that is mostly spam',
    applies: (message) =>
      message.links.some((link) =>
        /\.(?:biz|info|top|xyz|click|loan|win|bid|stream|gq|cf|tk|ml|ga|icu|cam|work)$/.test(hostOf(link.href)),
      ),
  },
];

export const HTML_RULES: readonly SpamRule[] = [
  {
    rule: 'HTML_ONLY',
    score: 0.6,
    text: 'HTML without a plain alternative',
    applies: (message) => message.html !== null && !message.hasPlainPart,
  },
  {
    rule: 'HTML_FORM',
    score: 1.5,
    text: 'The mail contains a form',
    applies: (message) => (message.html?.forms ?? 0) > 0,
  },
  {
    rule: 'HTML_SCRIPT',
    score: 1,
    text: 'The mail contains a script or frame',
    applies: (message) => (message.html?.scripts ?? 0) > 0,
  },
  {
    rule: 'HTML_MOSTLY_HIDDEN',
    score: 1.5,
    text: 'More hidden text than visible text',
    applies: (message) =>
      (message.html?.hiddenCharacters ?? 0) > Math.max(1_000, message.html?.text.trim().length ?? 0),
  },
  {
    rule: 'IMAGE_INSTEAD_OF_TEXT',
    score: 1.5,
    text: 'Pictures and links with almost no text',
    applies: (message) =>
      message.html !== null &&
      message.html.images > 0 &&
      message.links.length > 0 &&
      message.text.replace(/\s/g, '').length < 120,
  },
  {
    rule: 'BASE64_FOR_PLAIN_TEXT',
    score: 1.5,
    text: 'Plain text is encoded in Base64 without need',
    applies: (message) =>
      message.parts.some((part) => part.encoding === 'base64' && part.type.startsWith('text/') && !part.isAttachment) &&
      !/\P{ASCII}/u.test(message.text),
  },
];

/** Rules for signs of a conversation between people. Such signs are easy to forge, so the total score of these rules is small. */
export const CONVERSATION_RULES: readonly SpamRule[] = [
  {
    rule: 'ANSWERS_A_MESSAGE',
    score: -0.8,
    text: 'It answers a message and quotes it',
    applies: (message) =>
      /<[^<>\s]+@/.test(
        `${headerValue(message.headers, 'in-reply-to')}${headerValue(message.headers, 'references')}`,
      ) && /^>|^\s*(?:wrote|schrieb|a écrit)\b|wrote:\s*$|original message/im.test(visible(message)),
  },
  {
    rule: 'QUOTES',
    score: -0.5,
    text: 'It quotes lines of another message',
    applies: (message) => (visible(message).match(/^\s?>/gm)?.length ?? 0) >= 3,
  },
  {
    rule: 'SIGNED_BY_A_PERSON',
    score: -1,
    text: 'It carries an OpenPGP or S/MIME signature',
    applies: (message) =>
      message.parts[0]?.type === 'multipart/signed' || /^-----BEGIN PGP SIGNATURE-----$/m.test(visible(message)),
  },
];

/** True if the text of a link is a web address of another site than its target. */
function showsAnotherHost(link: { readonly href: string; readonly text: string }): boolean {
  const shown = /^\s*(?:https?:\/\/)?((?:[a-z0-9-]+\.)+[a-z]{2,})(?:[/:?#]\S*)?\s*$/i
    .exec(link.text)?.[1]
    ?.toLowerCase();
  const host = hostOf(link.href);
  if (shown === undefined || host === '') return false;
  const site = (name: string) => name.split('.').slice(-2).join('.');
  return site(shown) !== site(host);
}
