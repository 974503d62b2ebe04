/**
 * Tokens of the classifier, each as a hash: words, pairs of neighbouring words and runs of four characters, from the subject and
 * the visible text.
 *
 * Some text is omitted, because it shows where the training mail was collected rather than what it is: all headers but the subject,
 * dates, recipients, hosts, and names that were sanitised in the corpus. Words of bulk mailing ("unsubscribe", "click here") are
 * omitted too. The training mail has hardly any wanted newsletters, so the model would learn that newsletters are junk.
 */
import type { MessageText } from './message-text.ts';

/**
 * Size of a model's table: half a million buckets. The shipped model fills a quarter of them, so an unknown word mostly falls into
 * an empty bucket.
 */
export const BUCKET_BITS = 19;
export const BUCKET_COUNT = 1 << BUCKET_BITS;
const WORDS_MAX = 6_000;
const WORD_LENGTH_MAX = 24;
const GRAM_LENGTH = 4;
const GRAM_CHARACTERS_MAX = 3_000;
/** Character that replaces omitted text. No token extends across it. */
const GAP = '\u0001';
const CORPUS_NAME = /taint\.org|netnoteinc|jmason|slashnull|^(?:zzzz|yyyy)/;
const WEB_ADDRESS = /\b(?:https?:\/\/|www\.)\S+/gi;
const MAIL_ADDRESS = /[\w.+-]{1,64}@[\w.-]{1,100}/g;
const BULK_MAIL_WORD =
  /\b(?:un-?subscri\w*|subscri\w*|newsletters?|mailings?|lists?|removed?|removal|removing|opt(?:ed|s)?(?:-?(?:in|out))?|e-?mail(?:s|ed|ing|ings)?|mailto|receiv\w*|click\w*|here|links?|view|browser|html|format|images?|privacy|policy|terms|conditions|copyright|rights|reserved|inc|llc|ltd|advertis\w*|sponsor\w*|accounts?|customers?|services?|orders?|ordered|preferences|forward\w*|friends?|updates?|profile|website|web|site|visit|messages?|sent|send|sender|address(?:es)?|online|internet|information|info|offers?|special|free|please|thank|thanks|contact|reply|future|wish)\b/gi;
const WORD = /[\p{L}\p{N}$£€][\p{L}\p{N}\p{M}$£€'’%!.,_-]*/gu;
/** Scripts without spaces between words. Runs of characters are used for them, but no words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** @returns the hash of each token, each once. The lowest bit is 1 for a word or a pair of words; users train only these. */
export function toTokens(message: Pick<MessageText, 'subject' | 'text'>): Uint32Array {
  const tokens = new Set<number>();
  const subject = excludeMarkup(message.subject.slice(0, 500));
  const text = excludeMarkup(message.text);
  addWords(subject, 's', tokens);
  addWords(text, 'b', tokens);
  addGrams(`${subject}\n${text.slice(0, 2 * GRAM_CHARACTERS_MAX)}`, tokens);
  return Uint32Array.from(tokens);
}

/** @returns the index of a token in a model's table: its upper bits. */
export const bucketOf = (token: number): number => token >>> (32 - BUCKET_BITS);
export const isWordToken = (token: number): boolean => (token & 1) === 1;

function excludeMarkup(text: string): string {
  return text.replace(WEB_ADDRESS, ' ').replace(MAIL_ADDRESS, ' ').replace(BULK_MAIL_WORD, GAP);
}

function addWords(text: string, field: 's' | 'b', tokens: Set<number>): void {
  let count = 0;
  for (const stretch of text.split(GAP)) {
    let previous = '';
    for (const match of stretch.matchAll(WORD)) {
      count += 1;
      if (count > WORDS_MAX) return;
      const word = normaliseWord(match[0]);
      if (word === '' || word.length > WORD_LENGTH_MAX || CORPUS_NAME.test(word) || UNSPACED.test(word)) continue;
      tokens.add(toToken(`${field}:${word}`, 1));
      if (previous !== '') tokens.add(toToken(`${field}2:${previous} ${word}`, 1));
      previous = word;
    }
  }
}

/**
 * Normalises a word: lower case, no punctuation at its end. If the word has three digits in a row, each of its digits becomes 0.
 */
function normaliseWord(text: string): string {
  const word = text.toLowerCase().replace(/[.,'_-]+$/, '');
  return /\d{3}/.test(word) ? word.replace(/\d/g, '0') : word;
}

function addGrams(text: string, tokens: Set<number>): void {
  const squeezed = text
    .slice(0, 3 * GRAM_CHARACTERS_MAX)
    .replace(/\s+/g, ' ')
    .slice(0, GRAM_CHARACTERS_MAX);
  for (let at = 0; at + GRAM_LENGTH <= squeezed.length; at += 1) {
    const gram = squeezed.slice(at, at + GRAM_LENGTH);
    if (!gram.includes(GAP)) tokens.add(toToken(`c:${gram}`, 0));
  }
}

/** FNV-1a over UTF-16 code units, with its bits mixed. It must never change, because stored models depend on it. */
function toToken(text: string, kind: 0 | 1): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  return ((hash & ~1) | kind) >>> 0;
}
