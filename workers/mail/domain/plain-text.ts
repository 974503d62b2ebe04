/** Converts cleaned HTML to plain text. */

const BLOCKS =
  /^\/?(?:address|article|aside|blockquote|br|caption|center|dd|div|dl|dt|figure|footer|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tr|ul)$/;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' };

/** @param html result of `cleanHtml`. The conversion takes linear time. */
export function toPlainText(html: string): string {
  let text = '';
  for (const piece of html.split(/(<[^>]*>)/)) {
    if (!piece.startsWith('<')) {
      text += piece
        .replace(/\s+/g, ' ')
        .replace(/&(amp|lt|gt|quot|nbsp);/g, (whole, name: string) => ENTITIES[name] ?? whole);
      continue;
    }
    const tag = /^<(\/?[a-z0-9]+)/i.exec(piece)?.[1]?.toLowerCase() ?? '';
    if (BLOCKS.test(tag)) text += '\n';
    else if (tag === 'td' || tag === 'th') text += ' ';
  }
  return text
    .replaceAll('\u00a0', ' ')
    .replace(/[ \t]*\n[ \t]*/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
