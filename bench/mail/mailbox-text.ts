/**
 * Makes reproducible text with the word frequencies of natural language. This module has no imports, because it also runs inside
 * workerd.
 */

/** Makes a generator of random numbers, reproducible by its seed (linear congruential). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const ONSETS = [
  'b',
  'br',
  'c',
  'd',
  'f',
  'fl',
  'g',
  'h',
  'k',
  'l',
  'm',
  'n',
  'p',
  'pr',
  'r',
  's',
  'st',
  't',
  'tr',
  'v',
];
const VOWELS = ['a', 'e', 'i', 'o', 'u'];
const CODAS = ['', 'n', 'r', 'l', 'm'];
const SYLLABLES = ONSETS.length * VOWELS.length * CODAS.length;
const WORDS = 20_000;

/** Makes the word of a frequency rank; rank 0 is the most common. The most common words have two syllables, the others three. */
export function wordOfRank(rank: number): string {
  const syllable = (n: number) =>
    (ONSETS[n % ONSETS.length] ?? '') +
    (VOWELS[Math.floor(n / ONSETS.length) % VOWELS.length] ?? '') +
    (CODAS[Math.floor(n / ONSETS.length / VOWELS.length) % CODAS.length] ?? '');
  // The factor 187 has no common factor with the number of syllables, so words of adjacent ranks spread over the alphabet.
  const [first, second] = [(rank * 187) % SYLLABLES, Math.floor(rank / SYLLABLES) * 61 + rank * 7];
  return rank < SYLLABLES
    ? syllable(first) + syllable(second % SYLLABLES)
    : syllable(first) + syllable(second % SYLLABLES) + syllable(Math.floor(rank / SYLLABLES));
}

/** Makes a text of random words. The n-th word is about 1/n as frequent as the first (Zipf's law). */
export function makeWords(random: () => number, count: number): string {
  const words: string[] = [];
  for (let n = 0; n < count; n++) words.push(wordOfRank(Math.floor(WORDS ** random()) - 1));
  return words.join(' ');
}
