/** Joins the lines of `format=flowed` text (RFC 3676). */

/** Maximum of text whose lines are joined. In longer text the lines stay as they are, because each line costs memory. */
const LINES_MAX = 400_000;
const SIGNATURE = '-- ';

/**
 * Joins a line that ends with a blank to the next line of the same quote depth (§4.5), and removes stuffed blanks (§4.4). If the
 * next line has another depth, the paragraph ends instead.
 * @param isSpaceDeleted true for `DelSp=yes`: the blank at the end of a joined line is not part of the text.
 */
export function joinFlowedLines(text: string, isSpaceDeleted: boolean): string {
  const lines = text.split('\n');
  if (lines.length > LINES_MAX) return text;
  const out: string[] = [];
  let paragraph = '';
  let depth = -1;
  let isOpen = false;
  const close = () => {
    if (depth >= 0) out.push(depth === 0 ? paragraph : `${'>'.repeat(depth)} ${paragraph}`.trimEnd());
  };
  for (const line of lines) {
    const quotes = countQuotes(line);
    const rest = line.slice(quotes);
    const content = rest.startsWith(' ') ? rest.slice(1) : rest;
    const isSignature = content === SIGNATURE;
    const isFlowed = content.endsWith(' ') && !isSignature;
    const kept = isFlowed && isSpaceDeleted ? content.slice(0, -1) : content;
    if (isOpen && quotes === depth && !isSignature) paragraph += kept;
    else {
      close();
      paragraph = kept;
      depth = quotes;
    }
    isOpen = isFlowed;
  }
  close();
  return out.join('\n');
}

function countQuotes(line: string): number {
  let count = 0;
  while (line[count] === '>') count += 1;
  return count;
}
