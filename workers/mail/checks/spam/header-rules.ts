/**
 * Spam rules for header fields that the sender wrote. The scores were chosen by how well the rules work in practice. They are the
 * same for all senders and are not learned.
 */
import { decodeWords } from '../../mime/content-decoding.ts';
import { headerValue } from '../../mime/mime-tree.ts';
import type { MessageText } from './message-text.ts';

export interface SpamRule {
  readonly rule: string;
  readonly score: number;
  readonly text: string;
  readonly applies: (message: MessageText, ruleContext: RuleContext) => boolean;
}

export interface RuleContext {
  /** Time of the check, milliseconds since 1970. */
  readonly now: number;
}

const DAY_MS = 86_400_000;
/** Hosts of free mail. A commercial sender with a reply address at such a host is suspicious. */
export const FREE_MAIL =
  /@(?:(?:hotmail|outlook|live|msn|yahoo|ymail|aol|gmail|googlemail|mail|gmx|web|excite|netscape|lycos|eudoramail|caramail|netzero|juno|usa|mail2world|bigfoot|altavista|yandex|mail|qq|163|126|proton|protonmail|zoho)\.(?:com|net|de|fr|ru|org|me|co\.uk|co\.in|co\.jp|it|es))$/;

const header = (message: MessageText, name: string) => headerValue(message.headers, name);
const has = (message: MessageText, name: string) => message.headers.some((field) => field.name === name);
const letters = (text: string) => text.replace(/\P{L}/gu, '');

export const HEADER_RULES: readonly SpamRule[] = [
  {
    rule: 'MISSING_MESSAGE_ID',
    score: 0.3,
    text: 'Message-ID is missing',
    applies: (message) => !has(message, 'message-id'),
  },
  {
    rule: 'MALFORMED_MESSAGE_ID',
    score: 1.3,
    text: 'Message-ID does not have the form <left@right>',
    applies: (message) => has(message, 'message-id') && !/^<[^<>@\s]+@[^<>\s]+>/.test(header(message, 'message-id')),
  },
  {
    rule: 'MESSAGE_ID_OF_BULK_TOOL',
    score: 2.5,
    text: 'Message-ID imitates Outlook with an impossible time',
    applies: (message) => /^<(?!.{4}01)[0-9a-f]{12}\$[0-9a-f]{8}\$[0-9a-f]{8}@/.test(header(message, 'message-id')),
  },
  {
    rule: 'MISSING_DATE',
    score: 0.4,
    text: 'Date is missing',
    applies: (message) => !has(message, 'date'),
  },
  {
    rule: 'DATE_IN_FUTURE',
    score: 1.5,
    text: 'Date is more than two days in the future',
    applies: (message, { now }) => Date.parse(header(message, 'date')) > now + 2 * DAY_MS,
  },
  {
    rule: 'MALFORMED_DATE',
    score: 1,
    text: 'Date has a form that no mail program writes',
    applies: (message) =>
      has(message, 'date') && !/\d{1,2} [A-Z][a-z]{2} \d{2,4} +\d{1,2}:\d{2}/.test(header(message, 'date')),
  },
  {
    rule: 'IMPOSSIBLE_TIME_ZONE',
    score: 1.5,
    text: 'Date has a time zone that does not exist',
    applies: (message) => {
      const zone = /[+-](\d{2})(\d{2})\b/.exec(header(message, 'date'));
      return zone !== null && (Number(zone[1]) > 14 || Number(zone[2]) > 59);
    },
  },
  {
    rule: 'NO_RECIPIENT_NAMED',
    score: 0.6,
    text: 'To and Cc are both empty',
    applies: (message) => !/@/.test(`${header(message, 'to')}${header(message, 'cc')}`),
  },
  {
    rule: 'MANY_RECIPIENTS_SORTED',
    score: 1.2,
    text: 'To and Cc contain many addresses from an alphabetical list',
    applies: (message) => areSorted(`${header(message, 'to')},${header(message, 'cc')}`),
  },
  {
    rule: 'FROM_IS_EMPTY',
    score: 1.5,
    text: 'From has no address',
    applies: (message) => !message.from.address.includes('@'),
  },
  {
    rule: 'FROM_IS_RANDOM',
    score: 1,
    text: 'The sender address looks machine-generated at a free mail host',
    applies: (message) =>
      FREE_MAIL.test(message.from.address) && /^(?:[^@]*\d{4,}|[^@]*\d[a-z]+\d)[^@]*@/.test(message.from.address),
  },
  {
    rule: 'FROM_NAME_IS_ADDRESS',
    score: 1.2,
    text: 'The sender’s name contains an address other than the sender’s',
    applies: (message) => {
      const shown = /[\w.+-]+@([\w-]+(?:\.[\w-]+)+)/.exec(message.from.name)?.[1]?.toLowerCase();
      return shown !== undefined && !message.from.address.endsWith(shown);
    },
  },
  {
    rule: 'REPLY_TO_FREE_MAIL',
    score: 1.2,
    text: 'Replies go to a free mail host, not to the sender',
    applies: (message) =>
      FREE_MAIL.test(message.replyTo) &&
      !FREE_MAIL.test(message.from.address) &&
      message.from.address !== message.replyTo,
  },
  {
    rule: 'FREE_MAIL_FOR_ANOTHER',
    score: 1.2,
    text: 'From and Reply-To are different accounts at free mail hosts',
    applies: (message) =>
      FREE_MAIL.test(message.replyTo) &&
      FREE_MAIL.test(message.from.address) &&
      message.from.address !== message.replyTo,
  },
  {
    rule: 'SUBJECT_ALL_CAPITALS',
    score: 1.2,
    text: 'The subject is in capitals',
    applies: (message) => {
      const text = letters(message.subject.replace(/^(?:(?:re|fwd?|aw|wg):\s*|\[[^\]]{1,30}\]\s*)+/i, ''));
      return text.length >= 10 && /\s/.test(message.subject) && /\p{Lu}/u.test(text) && !/\p{Ll}|\p{Lo}/u.test(text);
    },
  },
  {
    rule: 'SUBJECT_ENDS_IN_NOISE',
    score: 2,
    text: 'The subject ends in spaces and a random word',
    applies: (message) => /\S(?: {5,}|\t+)[\w[\]{}().-]{2,30}\s*$/.test(message.subject),
  },
  {
    rule: 'SUBJECT_ENDS_IN_SYLLABLES',
    score: 1.2,
    text: 'The subject ends in a random word that makes each copy unique',
    applies: (message) => {
      const last = /[\s.!?-]{2,}([a-z]{3,12})$/.exec(message.subject)?.[1];
      return (
        last !== undefined &&
        (/[^aeiouy]{4}/.test(last) || !/[aeiouy]/.test(last) || /^[^aeiou]{2}[^aeiouyrlh]/.test(last))
      );
    },
  },
  {
    rule: 'SUBJECT_SHOUTS',
    score: 0.8,
    text: 'The subject uses !!, $$ or ??',
    applies: (message) => /!!|\$\$|\?!|\?\?/.test(message.subject) && !/^(?:re|aw):/i.test(message.subject),
  },
  {
    rule: 'SUBJECT_EXCLAIMS',
    score: 0.4,
    text: 'The subject ends in an exclamation mark',
    applies: (message) => /[^!]!\s*$/.test(message.subject) && !/^(?:re|aw):/i.test(message.subject),
  },
  {
    rule: 'SUBJECT_IS_AD',
    score: 2.5,
    text: 'The subject is labelled as advertising',
    applies: (message) => /^\W*adv?\s*[:.\]]|[([]\s*광\s*고\s*[)\]]|未承諾広告|未承认广告/i.test(message.subject),
  },
  {
    rule: 'SUBJECT_GAPPED',
    score: 2,
    text: 'The subject hides words by spacing out their letters',
    applies: (message) => /(?:\b\p{L}[ .*_-]){5,}\p{L}\b/u.test(message.subject),
  },
  {
    rule: 'SUBJECT_RAW_BYTES',
    score: 1.2,
    text: 'The subject has unencoded bytes in an unknown charset',
    applies: (message) => {
      const raw = header(message, 'subject');
      return /[\x80-\xff]/.test(raw) && !isUtf8(raw) && decodeWords(raw) === message.subject;
    },
  },
  {
    rule: 'URGENT_BY_FORGED_CLIENT',
    score: 0.8,
    text: 'Marked urgent like Outlook does, but not written by Outlook',
    applies: (message) => has(message, 'x-msmail-priority') && !has(message, 'x-mimeole'),
  },
  {
    rule: 'BULK_MAILER',
    score: 2,
    text: 'Written by a tool sold for bulk mailing',
    applies: (message) =>
      /mass.?mail|bulk|e-?merge|group mail|dynamic mail communicator|jixing|mach10|stealth|floodgate|avalanche|gammadyne|\blmm\b|direct ?mail|advanced mass|mmail|ultra ?mail|sendmass/i.test(
        header(message, 'x-mailer'),
      ),
  },
];

/** @param bytes the value of the field, with one character per byte. */
function isUtf8(bytes: string): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(Buffer.from(bytes, 'latin1'));
    return true;
  } catch {
    return false;
  }
}

function areSorted(list: string): boolean {
  const names = (list.slice(0, 10_000).match(/[\w.+-]+(?=@)/g) ?? []).map((name) => name.toLowerCase().slice(0, 2));
  return names.length >= 8 && names.filter((name, at) => at > 0 && name === names[at - 1]).length >= names.length * 0.6;
}
