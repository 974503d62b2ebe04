/** Shows the excerpt of a search result and marks the words that were searched for. */

/** Maximum of characters shown before the first found word. With more, a narrow list may cut the word off. */
const BEFORE_MAX = 18;

/** Returns the plain words of a search: without operators, negated words and quotation marks. */
function wordsOf(search: string): string[] {
  return (search.match(/-?"[^"]*"|\S+/g) ?? [])
    .filter((word) => !/^(-|\w+:|OR$)/.test(word))
    .map((word) => word.replaceAll(/["*()]/g, '').trim())
    .filter(Boolean);
}

export function FoundWords({ text, search }: { text: string; search: string }) {
  const words = wordsOf(search).map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (words.length === 0) return text;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join('|')})`, 'giu');
  const first = text.search(pattern);
  const start = first > BEFORE_MAX ? text.indexOf(' ', first - BEFORE_MAX) + 1 : 0;
  const shown = start > 0 && start <= first ? `…${text.slice(start)}` : text;
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move
  return shown.split(pattern).map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part));
}
