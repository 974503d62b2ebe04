/** Tells links that sign in, reset or confirm from others: by words, and by tokens in their paths and parameters. Pure. */
import { LINK_WORDS } from './secret-words.ts';

export const LINKS = /https?:\/\/[^\s<>"'“”»」)\]]+/giu;

/** @param isAccount whether the text around the link is about an account. */
export function isSecretLink(link: string, isAccount: boolean): boolean {
  const path = link.replace(/^https?:\/\/[^/?#]*/i, '');
  const parts = path.split(/[/?&#;=]/).filter((part) => part !== '');
  if (LINK_WORDS.test(path) && parts.some(isToken)) return true;
  return isAccount && parts.some((part) => isRandom(part));
}

/** A part that may be a token: digits among letters, six digits, or long. */
const isToken = (part: string): boolean =>
  part.length >= 16 || /\d{4}/.test(part) || (part.length >= 5 && isMixed(part)) || isRandom(part);

const isMixed = (part: string): boolean => /\d/.test(part) && /[a-z]/i.test(part) && !/^[a-z]+-?v?\d{1,2}$/i.test(part);

/** A part that nobody chose: long, or changing between digits, capitals and small letters more often than words do. */
function isRandom(part: string): boolean {
  if (/[A-Za-z0-9_-]{20,}/.test(part)) return true;
  if (!/^[A-Za-z0-9_.~%-]{8,}$/.test(part) || !/\d/.test(part) || !/[a-z]/i.test(part)) return false;
  const kinds = part
    .replace(/\d+/g, '0')
    .replace(/[A-Z]+/g, 'A')
    .replace(/[a-z]+/g, 'a');
  return kinds.replace(/[^0Aa]/g, '').length >= 4;
}
