/**
 * Extracts the visible text of an HTML body and the targets of its links, in one pass and without a tree. HTML in mail is often
 * malformed, and hostile mail would make a tree very deep. As on a screen, a comment does not separate the text around it ("via<!--
 * x -->gra").
 */

export interface HtmlLink {
  readonly href: string;
  /** Visible text of the link. */
  readonly text: string;
}

export interface HtmlText {
  readonly text: string;
  readonly links: readonly HtmlLink[];
  readonly images: number;
  readonly forms: number;
  readonly scripts: number;
  /** Number of characters in the source that are never displayed. */
  readonly hiddenCharacters: number;
}

const LINKS_MAX = 500;
const COLOURED_MAX = 50;
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  trade: '™',
  euro: '€',
  pound: '£',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  ccedil: 'ç',
  ntilde: 'ñ',
  aacute: 'á',
  oacute: 'ó',
  iacute: 'í',
  uacute: 'ú',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  rsquo: '’',
  lsquo: '‘',
  rdquo: '”',
  ldquo: '“',
  bull: '•',
  middot: '·',
  shy: '',
  zwnj: '',
};
const INLINE = /^(?:a|b|i|u|em|strong|font|span|big|small|tt|sub|sup|s|strike|code|ins|del|mark|abbr|wbr)$/;
const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
const HIDDEN_STYLE =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em|%)?\s*(?:;|$|!)|mso-hide\s*:\s*all/i;

/** How opening tags, without their names, are judged. */
export interface TagRules {
  /** @param around the backgrounds that the elements around it declare, the nearest last. */
  readonly isHidden: (tag: string, around: readonly string[]) => boolean;
  /** @returns the background that a tag declares; empty if it declares none. */
  readonly backgroundOf: (tag: string) => string;
}

export function readHtml(html: string, rules: TagRules = { isHidden, backgroundOf: () => '' }): HtmlText {
  const reader = new HtmlReader(html, rules);
  return reader.read();
}

export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));?/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
  });
}

class HtmlReader {
  private readonly html: string;
  private readonly lower: string;
  private readonly rules: TagRules;
  private readonly pieces: string[] = [];
  private readonly links: { href: string; text: string }[] = [];
  private images = 0;
  private forms = 0;
  private scripts = 0;
  private hiddenCharacters = 0;
  /**
   * The open hidden element: its name, and the depth of nested elements of this name. Text inside it counts as hidden. Null
   * outside.
   */
  private hidden: { name: string; depth: number } | null = null;
  /** Open elements with a background, and the depth of nested elements of the same name. */
  private readonly coloured: { name: string; depth: number; background: string }[] = [];
  private openLink: { href: string; from: number } | null = null;

  constructor(html: string, rules: TagRules) {
    this.html = html;
    this.rules = rules;
    this.lower = html.toLowerCase();
  }

  read(): HtmlText {
    let at = 0;
    while (at < this.html.length) {
      const open = this.html.indexOf('<', at);
      this.addText(this.html.slice(at, open < 0 ? undefined : open));
      if (open < 0) break;
      at = this.readMarkup(open);
    }
    this.closeLink();
    const { links, images, forms, scripts, hiddenCharacters } = this;
    return { text: this.pieces.join(''), links, images, forms, scripts, hiddenCharacters };
  }

  /** Reads markup that begins at `open`. @returns the position after it. */
  private readMarkup(open: number): number {
    if (this.html.startsWith('<!--', open)) return this.skipTo('-->', open + 4);
    const name = /^<(\/?)([a-zA-Z][a-zA-Z0-9]*)/.exec(this.html.slice(open, open + 40));
    if (!name) {
      if (/^<[!?/]/.test(this.html.slice(open, open + 2))) return this.skipTo('>', open + 2);
      this.addText('<');
      return open + 1;
    }
    const end = this.tagEnd(open + name[0].length);
    const tag = this.html.slice(open + name[0].length, end);
    const element = (name[2] ?? '').toLowerCase();
    if (name[1] === '/') this.closeElement(element);
    else this.openElement(element, tag.slice(0, 4_096));
    if (name[1] !== '/' && (element === 'script' || element === 'style' || element === 'title')) {
      return this.skipTo(`</${element}`, end + 1);
    }
    return end + 1;
  }

  private skipTo(text: string, from: number): number {
    const found = this.lower.indexOf(text, from);
    return found < 0 ? this.html.length : found + (text.endsWith('>') ? text.length : 0);
  }

  /** Finds the end of a tag. A `>` inside a quoted attribute does not end the tag; an unclosed quote is ignored. */
  private tagEnd(from: number): number {
    const near = this.html.slice(from, from + 8_192);
    const match = /^(?:[^<>"']|"[^"]*"|'[^']*')*>/.exec(near);
    if (match) return from + match[0].length - 1;
    const plain = this.html.indexOf('>', from);
    return plain < 0 ? this.html.length : plain;
  }

  private openElement(name: string, tag: string): void {
    if (!INLINE.test(name)) this.pieces.push(name === 'td' || name === 'th' || name === 'img' ? ' ' : '\n');
    if (this.hidden !== null) {
      if (name === this.hidden.name) this.hidden.depth += 1;
    } else if (!VOID.test(name) && /style|hidden|color/i.test(tag) && this.rules.isHidden(tag, this.backgrounds()))
      this.hidden = { name, depth: 1 };
    if (!VOID.test(name)) this.openColoured(name, tag);
    if (name === 'img') this.images += 1;
    if (name === 'form') this.forms += 1;
    if (name === 'script' || name === 'iframe' || name === 'object') this.scripts += 1;
    if (name === 'a' || name === 'area' || name === 'form')
      this.openLinkTo(attribute(tag, name === 'form' ? 'action' : 'href'));
  }

  private backgrounds(): string[] {
    return this.coloured.map(({ background }) => background);
  }

  private openColoured(name: string, tag: string): void {
    const background = /style|color/i.test(tag) ? this.rules.backgroundOf(tag) : '';
    const nearest = this.coloured.at(-1);
    if (background !== '' && this.coloured.length < COLOURED_MAX) this.coloured.push({ name, depth: 1, background });
    else if (nearest?.name === name) nearest.depth += 1;
  }

  private closeColoured(name: string): void {
    const nearest = this.coloured.at(-1);
    if (nearest?.name !== name) return;
    nearest.depth -= 1;
    if (nearest.depth === 0) this.coloured.pop();
  }

  private closeElement(name: string): void {
    this.closeColoured(name);
    if (!INLINE.test(name)) this.pieces.push('\n');
    if (name === this.hidden?.name) {
      this.hidden.depth -= 1;
      if (this.hidden.depth === 0) this.hidden = null;
    }
    if (name === 'a') this.closeLink();
  }

  private openLinkTo(href: string): void {
    this.closeLink();
    if (href !== '') this.openLink = { href, from: this.pieces.length };
  }

  private closeLink(): void {
    if (this.openLink === null) return;
    const text = this.pieces
      .slice(this.openLink.from, this.openLink.from + 100)
      .join('')
      .trim()
      .slice(0, 500);
    if (this.links.length < LINKS_MAX) this.links.push({ href: this.openLink.href, text });
    this.openLink = null;
  }

  private addText(text: string): void {
    if (text === '') return;
    if (this.hidden !== null) this.hiddenCharacters += text.trim().length;
    else this.pieces.push(decodeEntities(text));
  }
}

/** Whether an opening tag hides its element by an attribute or by its style. */
export function isHidden(tag: string): boolean {
  return HIDDEN_STYLE.test(attribute(tag, 'style')) || /\shidden(?:[\s=]|$)/i.test(tag);
}

/** @returns the value of an attribute with entities decoded; empty if the attribute is absent. */
export function attribute(tag: string, name: string): string {
  const match = new RegExp(`(?:^|[\\s"'/])${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag);
  return decodeEntities(match?.[1] ?? match?.[2] ?? match?.[3] ?? '').trim();
}
