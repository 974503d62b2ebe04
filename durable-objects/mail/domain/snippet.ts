/** Makes excerpts of texts around search hits. */

import { type EmailFilter, listTexts } from '../../../workers/mail/domain/email-filter.ts';
import { findRuns, foldText, isCjk, toInflections, toSearchPhrase } from '../../../workers/mail/domain/search-text.ts';

const SNIPPET_LENGTH = 160;
const BEFORE_LENGTH = 50;

/** Search terms to compare a text's words with: whole words, prefixes of words, and pieces of CJK runs. */
export interface Needles {
  readonly words: ReadonlySet<string>;
  readonly prefixes: readonly string[];
  readonly pieces: readonly string[];
}

/** @returns the terms of a query that can occur in a body: those that are not negated and not limited to another field. */
export function toNeedles(filter: EmailFilter | null): Needles {
  const words = new Set<string>();
  const prefixes: string[] = [];
  const pieces: string[] = [];
  for (const each of listTexts(filter, ['any'])) {
    const { text, match } = each;
    for (const run of findRuns(text)) if (isCjk(run.term)) pieces.push(run.term);
    for (const { term, isPrefix } of toSearchPhrase(each)) {
      if (isCjk(term)) continue;
      if (isPrefix) prefixes.push(term);
      words.add(term);
      if (match === 'word') for (const form of toInflections(term)) words.add(form);
    }
  }
  return { words, prefixes, pieces };
}

const findPiece = (term: string, needles: Needles) => needles.pieces.find((each) => term.includes(each));
const isNeedle = (term: string, needles: Needles) =>
  needles.words.has(term) || needles.prefixes.some((prefix) => term.startsWith(prefix));

/** Weight of a longer word that begins with a searched word. */
const BEGINNING_WEIGHT = 0.5;

/** Counts the words of a text that match, whole words before beginnings. Used to rank hits in subjects and senders. */
export function countNeedles(text: string, needles: Needles): number {
  let count = 0;
  for (const { term } of findRuns(text)) {
    if (needles.words.has(term) || findPiece(term, needles) !== undefined) count += 1;
    else if (isNeedle(term, needles)) count += BEGINNING_WEIGHT;
  }
  return count;
}

/** @returns up to 160 characters around the first hit, with `…` where text was cut; null without a hit. */
export function makeSnippet(text: string, needles: Needles): string | null {
  for (const run of findRuns(text)) {
    const piece = findPiece(run.term, needles);
    if (piece === undefined && !isNeedle(run.term, needles)) continue;
    const offset = piece === undefined ? 0 : foldText(text.slice(run.start, run.end)).indexOf(piece);
    return cutAround(text, run.start + Math.max(0, offset));
  }
  return null;
}

function cutAround(text: string, hit: number): string {
  let start = Math.max(0, hit - BEFORE_LENGTH);
  // Moves the start forward to the beginning of a word.
  if (start > 0) start += /^\S*\s+/.exec(text.slice(start, hit))?.[0].length ?? 0;
  const end = Math.min(text.length, start + SNIPPET_LENGTH);
  const shown = text.slice(start, end).toWellFormed().replace(/\s+/g, ' ').trim();
  return `${start > 0 ? '…' : ''}${shown}${end < text.length ? '…' : ''}`;
}
