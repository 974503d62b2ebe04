/** Text for mailboxes that are measured: words as frequent as in language, the same every time. No imports: it also runs inside workerd. */

/** A linear congruential generator. */
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

/** The word of a rank, from 0: two syllables for the commonest, three for the others. */
export function wordOfRank(rank: number): string {
  const syllable = (n: number) =>
    (ONSETS[n % ONSETS.length] ?? '') +
    (VOWELS[Math.floor(n / ONSETS.length) % VOWELS.length] ?? '') +
    (CODAS[Math.floor(n / ONSETS.length / VOWELS.length) % CODAS.length] ?? '');
  // A step without common factor spreads neighbours over the alphabet.
  const [first, second] = [(rank * 187) % SYLLABLES, Math.floor(rank / SYLLABLES) * 61 + rank * 7];
  return rank < SYLLABLES
    ? syllable(first) + syllable(second % SYLLABLES)
    : syllable(first) + syllable(second % SYLLABLES) + syllable(Math.floor(rank / SYLLABLES));
}

/** The n-th word is taken about 1/n as often as the first (Zipf's law). */
export function makeWords(random: () => number, count: number): string {
  const words: string[] = [];
  for (let n = 0; n < count; n++) words.push(wordOfRank(Math.floor(WORDS ** random()) - 1));
  return words.join(' ');
}
