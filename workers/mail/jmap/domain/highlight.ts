/** Makes search snippets (RFC 8621 §5), in which words of the query are marked with `<mark>`. Pure. */
import type { TextFilter } from '../../domain/email-filter.ts';
import { findRuns, isCjk, toSearchPhrase } from '../../domain/search-text.ts';

const SNIPPET_BYTES_MAX = 255;
const BEFORE_LENGTH = 40;
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export interface Words {
  readonly words: ReadonlySet<string>;
  /** Beginnings of words. */
  readonly prefixes: readonly string[];
  readonly pieces: readonly string[];
}

export function toWords(texts: readonly Pick<TextFilter, 'text' | 'match'>[]): Words {
  const words = new Set<string>();
  const prefixes: string[] = [];
  const pieces: string[] = [];
  for (const each of texts) {
    for (const { term, isPrefix } of toSearchPhrase(each)) {
      if (isCjk(term)) continue;
      words.add(term);
      if (isPrefix) prefixes.push(term);
    }
    for (const run of findRuns(each.text)) if (isCjk(run.term)) pieces.push(run.term);
  }
  return { words, prefixes, pieces };
}

const isHit = (term: string, { words, prefixes, pieces }: Words): boolean =>
  words.has(term) || prefixes.some((prefix) => term.startsWith(prefix)) || pieces.some((piece) => term.includes(piece));

/** @returns the whole text as HTML with its hits marked; null without a hit. */
export function markSubject(text: string, words: Words): string | null {
  const runs = [...findRuns(text)].filter((run) => isHit(run.term, words));
  if (runs.length === 0) return null;
  let html = '';
  let at = 0;
  for (const { start, end } of runs) {
    html += `${escapeHtml(text.slice(at, start))}<mark>${escapeHtml(text.slice(start, end))}</mark>`;
    at = end;
  }
  return html + escapeHtml(text.slice(at));
}

/** @returns the part of a text around its first hit, as HTML of at most 255 bytes with the hits marked; null without a hit. */
export function markPreview(text: string, words: Words): string | null {
  for (const run of findRuns(text)) {
    if (!isHit(run.term, words)) continue;
    const start = Math.max(0, run.start - BEFORE_LENGTH);
    for (let length = 180; length > 0; length -= 20) {
      const shown = text
        .slice(start, Math.max(start + length, run.end))
        .toWellFormed()
        .replace(/\s+/g, ' ')
        .trim();
      const marked = markSubject(shown, words) ?? escapeHtml(shown);
      if (Buffer.byteLength(marked) <= SNIPPET_BYTES_MAX || length === 20) return marked;
    }
  }
  return null;
}
