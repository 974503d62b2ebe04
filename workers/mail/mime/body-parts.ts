/**
 * Decides which parts are the text of a message and which are attachments, by the algorithm of RFC 8621 §4.1.4, with two
 * differences. A named text part directly in `multipart/alternative` is an alternative. Any other named text part is body only if
 * the whole message has no body part before it.
 */
import { headerValue, type MimePart } from './mime-tree.ts';

export interface BodyParts {
  readonly text: readonly MimePart[];
  readonly html: readonly MimePart[];
  /** Attachments in the order of the message. Parts of an attached message are not listed, because they belong to that message. */
  readonly attachments: readonly MimePart[];
}

interface PartNode {
  readonly part: MimePart;
  readonly children: PartNode[];
}

/** @param parts all parts of the message in order, as `readMimeTree` returns them. */
export function chooseBodyParts(parts: readonly MimePart[]): BodyParts {
  const choice = new BodyChoice();
  const root = toNode(parts);
  if (root) choice.walk([root], 'mixed', false, { text: true, html: true });
  return choice.take(parts);
}

function toNode(parts: readonly MimePart[]): PartNode | undefined {
  const path: PartNode[] = [];
  for (const part of parts) {
    const node = { part, children: [] };
    path.length = Math.min(path.length, part.depth);
    path.at(-1)?.children.push(node);
    path.push(node);
  }
  return path[0];
}

class BodyChoice {
  readonly #text: MimePart[] = [];
  readonly #html: MimePart[] = [];
  readonly #attachments = new Set<MimePart>();

  take(parts: readonly MimePart[]): BodyParts {
    return { text: this.#text, html: this.#html, attachments: parts.filter((part) => this.#attachments.has(part)) };
  }

  /**
   * Adds nodes to the bodies or the attachments.
   * @param wants which bodies they may be added to: inside an alternative, an HTML part is not added to the text, nor a text part
   * to the HTML.
   */
  walk(
    nodes: readonly PartNode[],
    container: string,
    isInAlternative: boolean,
    wants: { text: boolean; html: boolean },
    start?: string,
  ): void {
    const root = Math.max(
      0,
      start ? nodes.findIndex(({ part }) => headerValue(part.headers, 'content-id') === start) : 0,
    );
    const before = [this.#text.length, this.#html.length];
    const here = { ...wants };
    for (const [at, { part, children }] of nodes.entries()) {
      if (part.type.startsWith('multipart/') && children.length > 0) {
        const subtype = part.type.slice('multipart/'.length);
        const isAlternative = isInAlternative || subtype === 'alternative';
        this.walk(children, subtype, isAlternative, here, part.parameters.get('start'));
      } else if (!this.#isBody(part, at === root, container)) this.#attachments.add(part);
      else if (container === 'alternative') (part.type === 'text/html' ? this.#html : this.#text).push(part);
      else {
        if (isInAlternative && part.type === 'text/html') here.text = false;
        else if (isInAlternative) here.html = false;
        if (here.text) this.#text.push(part);
        if (here.html) this.#html.push(part);
      }
    }
    if (container !== 'alternative' || !wants.text || !wants.html) return;
    const newText = this.#text.slice(before[0]);
    const newHtml = this.#html.slice(before[1]);
    if (newText.length === 0) this.#text.push(...newHtml);
    if (newHtml.length === 0) this.#html.push(...newText);
  }

  #isBody(part: MimePart, isRoot: boolean, container: string): boolean {
    // A multipart without any part counts as text.
    const isText = /^(?:text\/(?:plain|html)|multipart\/.*)$/.test(part.type);
    if (!isText || part.isAttachment) return false;
    if (container === 'related' && !isRoot) return false;
    const isFirst = isRoot && this.#text.length + this.#html.length === 0;
    return part.fileName === '' || isFirst || container === 'alternative';
  }
}
