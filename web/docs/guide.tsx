/** The guides: the documents of `docs/` for users, programmers and operators. */
import { createElement, Fragment, type ReactNode, useEffect } from 'react';
import { docsTexts } from '../shared/texts/docs.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { type Block, type Inline, parseMarkdown } from './markdown.ts';

const t = docsTexts.page;

/** Each guide is a file of its own, loaded when it is opened. */
const files = import.meta.glob<string>('../../docs/*.md', { query: '?raw', import: 'default' });

export const GUIDES = [
  'storage',
  'leaderboard',
  'mail',
  'jmap',
  'web-app',
  'errors',
  'api-stability',
  'deploy',
  'operations',
  'configuration',
  'costs',
  'data-protection',
  'glossary',
] as const satisfies readonly (keyof typeof t.guides)[];
export type Guide = (typeof GUIDES)[number];

/** Former names of guides, so that old links still open them. */
const FORMER_NAMES: Readonly<Record<string, Guide>> = { 'object-storage': 'storage' };

/** Finds a guide by its present or former name. @returns null if there is none. */
export const findGuide = (name: string): Guide | null => (isGuide(name) ? name : (FORMER_NAMES[name] ?? null));
const isGuide = (name: string): name is Guide => (GUIDES as readonly string[]).includes(name);
export const toGuideHash = (guide: string, anchor = ''): string => `#guide/${guide}${anchor && `/${anchor}`}`;

/** Converts the target of a link to an address. @returns undefined for files of the repository, which the site does not have. */
function toHref(target: string, guide: Guide): string | undefined {
  if (/^(?:https?|mailto):/.test(target)) return target;
  const [file = '', anchor = ''] = target.split('#');
  const name = file === '' ? guide : file.replace(/\.md$/, '');
  return isGuide(name) ? toGuideHash(name, anchor) : undefined;
}

/** Makes a fragment whose children need no React keys, because the blocks of a guide never change. */
const toList = (children: readonly ReactNode[]): ReactNode => createElement(Fragment, null, ...children);

function toPart(part: Inline, guide: Guide): ReactNode {
  if (part.kind === 'text') return part.text;
  if (part.kind !== 'link') return createElement(part.kind, null, part.text);
  const href = toHref(part.target, guide);
  return href === undefined ? part.text : <a href={href}>{part.text}</a>;
}

function toBlock(block: Block, guide: Guide): ReactNode {
  const toText = (parts: readonly Inline[]) => toList(parts.map((part) => toPart(part, guide)));
  const toElements = (name: string, texts: readonly (readonly Inline[])[]) =>
    toList(texts.map((parts) => createElement(name, null, toText(parts))));
  switch (block.kind) {
    case 'heading': {
      const id = toGuideHash(guide, block.level === 1 ? '' : block.anchor).slice(1);
      return createElement(`h${block.level}`, { id }, toText(block.text));
    }
    case 'paragraph':
      return <p>{toText(block.text)}</p>;
    case 'list':
      return createElement(block.isOrdered ? 'ol' : 'ul', null, toElements('li', block.items));
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls is reached with the keyboard
        <section className="guide-table" tabIndex={0} aria-label={t.table}>
          <table>
            <thead>
              <tr>{toElements('th', block.head)}</tr>
            </thead>
            <tbody>{toList(block.rows.map((row) => createElement('tr', null, toElements('td', row))))}</tbody>
          </table>
        </section>
      );
    case 'code':
      // Diagrams are left out: their source is for Mermaid, not for readers.
      if (block.language === 'mermaid') return null;
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: code that scrolls is reached with the keyboard
        <pre tabIndex={0}>{block.text}</pre>
      );
  }
}

export function GuideView({ guide, anchor }: { guide: Guide; anchor: string }) {
  const { value, error } = useLoaded(async () => {
    const load = files[`../../docs/${guide}.md`];
    return load ? parseMarkdown(await load()) : [];
  }, [guide]);
  useEffect(() => {
    if (value) document.getElementById(toGuideHash(guide, anchor).slice(1))?.scrollIntoView();
  }, [value, guide, anchor]);
  return (
    <article className="guide" aria-label={t.guides[guide]}>
      {error && <p className="error-box">{error}</p>}
      {value && toList(value.map((block) => toBlock(block, guide)))}
    </article>
  );
}
