/** Tests the Markdown parser of the guides. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseInline, parseMarkdown } from '../../../web/docs/markdown.ts';
import { listAnchors, ROOT, readDocument } from '../../support/markdown.ts';

describe('the Markdown of the guides', () => {
  it('has code, emphasis and links in a line', () => {
    expect(parseInline('Send `a|b` to **the board** ([more](x.md#y)).')).toEqual([
      { kind: 'text', text: 'Send ' },
      { kind: 'code', text: 'a|b' },
      { kind: 'text', text: ' to ' },
      { kind: 'strong', text: 'the board' },
      { kind: 'text', text: ' (' },
      { kind: 'link', text: 'more', target: 'x.md#y' },
      { kind: 'text', text: ').' },
    ]);
  });

  it('has lists with items that continue on the next line, tables and code', () => {
    expect(
      parseMarkdown('# T\n\n- one\n  goes on\n- two\n\n| a | b |\n|---|---|\n| 1 | `x\\|y` |\n\n```sh\nls # no\n```\n'),
    ).toEqual([
      { kind: 'heading', level: 1, anchor: 't', text: [{ kind: 'text', text: 'T' }] },
      {
        kind: 'list',
        isOrdered: false,
        items: [[{ kind: 'text', text: 'one goes on' }], [{ kind: 'text', text: 'two' }]],
      },
      {
        kind: 'table',
        head: [[{ kind: 'text', text: 'a' }], [{ kind: 'text', text: 'b' }]],
        rows: [[[{ kind: 'text', text: '1' }], [{ kind: 'code', text: 'x|y' }]]],
      },
      { kind: 'code', language: 'sh', text: 'ls # no' },
    ]);
  });

  it('has code in an item of a list', () => {
    expect(parseMarkdown('- one:\n  ```json\n  {\n    "a": 1\n  }\n  ```\n- two\n')).toEqual([
      { kind: 'list', isOrdered: false, items: [[{ kind: 'text', text: 'one:' }]] },
      { kind: 'code', language: 'json', text: '{\n  "a": 1\n}' },
      { kind: 'list', isOrdered: false, items: [[{ kind: 'text', text: 'two' }]] },
    ]);
  });

  it.each(readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md')))(
    'has the anchors of GitHub in %s, and no row with too many cells',
    (name) => {
      const blocks = parseMarkdown(readFileSync(join(ROOT, 'docs', name), 'utf8'));
      const anchors = blocks.flatMap((block) => (block.kind === 'heading' ? [block.anchor] : []));
      expect(new Set(anchors)).toEqual(new Set(listAnchors(readDocument(`docs/${name}`))));
      for (const block of blocks)
        if (block.kind === 'table') for (const row of block.rows) expect(row).toHaveLength(block.head.length);
    },
  );
});
