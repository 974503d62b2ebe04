/** Text without formatting in the form of the editor: one element per line. Pure. */
import { escapeHtml } from '../model/message-html.ts';

export const toLines = (body: string): string =>
  body
    .split('\n')
    .map((line) => `<div>${escapeHtml(line) || '<br>'}</div>`)
    .join('');

/** Whether HTML of the editor has more than lines. Text without formatting is sent as plain text. */
export const isFormatted = (html: string): boolean => /<(?!\/?div>|br>)/.test(html);

export interface Block {
  readonly html: string;
  /** The block as plain text, of one or more lines. */
  readonly text: string;
}

/**
 * Gives text that was formatted before its formatting back: blocks at the start and at the end that are unchanged keep it.
 * @param former the blocks before the switch to plain text. Their texts, joined by line ends, are the former text.
 */
export function restoreBlocks(former: readonly Block[], body: string): string {
  let start = 0;
  let from = 0;
  for (const { text } of former) {
    const isWhole =
      body.startsWith(text, from) && (from + text.length === body.length || body[from + text.length] === '\n');
    if (!isWhole) break;
    start += 1;
    from += text.length + 1;
  }
  if (from > body.length) return toHtml(former.slice(0, start));
  let end = former.length;
  let to = body.length;
  while (end > start) {
    const text = former[end - 1]?.text ?? '';
    const at = to - text.length;
    if (at < from || !body.startsWith(text, at) || !(at === from || body[at - 1] === '\n')) break;
    end -= 1;
    to = at - 1;
  }
  const middle = to >= from ? toLines(body.slice(from, to)) : '';
  return toHtml(former.slice(0, start)) + middle + toHtml(former.slice(end));
}

const toHtml = (blocks: readonly Block[]): string => blocks.map((block) => block.html).join('');
