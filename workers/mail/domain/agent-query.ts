/** Reads which words of a search an agent searches text for, so that no search tells what is withheld. Pure. */

export interface TextTerms {
  /** Words and phrases that must be in a hit, in lower case. A `*` at the end stands for any further letters. */
  readonly wanted: readonly string[];
  /** Whether the search excludes messages by their text or by names of people. */
  readonly hasExcluded: boolean;
  /** Texts that an address or its display name must have. */
  readonly people: readonly string[];
}

/** Words before a colon whose value is not in the text of a message. */
const FACTS = /^(?:in|is|has|label|thread|before|after|newer_than|older_than|larger|smaller)$/i;
const PEOPLE = /^(?:from|to|cc|bcc)$/i;
const TERM = /([-(]*)(?:([a-z_]+):)?(?:"([^"]*)"?|([^\s"()]+))/gi;

export function readTextTerms(query: string): TextTerms {
  const wanted: string[] = [];
  const people: string[] = [];
  let hasExcluded = false;
  for (const [, prefix = '', name, phrase, word] of query.matchAll(TERM)) {
    if (name !== undefined && FACTS.test(name)) continue;
    const text = (phrase ?? word ?? '').toLowerCase().trim();
    if (text === '' || (name === undefined && phrase === undefined && text === 'or')) continue;
    if (prefix.includes('-')) hasExcluded = true;
    else if (name !== undefined && PEOPLE.test(name)) people.push(text);
    else wanted.push(name === undefined ? text : (text.split(':').at(-1) ?? text));
  }
  // A parenthesis may negate more than the word after it.
  return { wanted, people, hasExcluded: hasExcluded || /-\s*\(/.test(query) };
}

/** Shortest word that also finds words which begin with it, as the search has it. */
const PREFIX_LENGTH_MIN = 3;

/**
 * Whether the shown text alone explains why a message is a hit. Words count as the search counts them: a part inside of a shown word
 * explains nothing.
 */
export function isExplained({ wanted, people, hasExcluded }: TextTerms, shown: string): boolean {
  const words = new Set(fold(shown).split(' '));
  const isShown = (word: string, isPrefix: boolean) =>
    words.has(word) ||
    ((isPrefix || word.length >= PREFIX_LENGTH_MIN) && [...words].some((each) => each.startsWith(word)));
  return (
    !hasExcluded &&
    [...wanted, ...people].every((term) =>
      fold(term)
        .split(' ')
        .every((word) => isShown(word, term.endsWith('*'))),
    )
  );
}

const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
