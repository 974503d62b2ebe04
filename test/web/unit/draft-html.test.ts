import { describe, expect, it } from 'vitest';
import { listClasses, toStyle } from '../../../web/mail/compose/colours.ts';
import { joinHtml, splitHtml } from '../../../web/mail/compose/quoted-html.ts';
import { TABLE_STYLES } from '../../../web/mail/compose/table-styles.ts';
import { isWrittenByPage } from '../../../workers/mail/domain/draft-html.ts';
import { cleanStyle } from '../../../workers/mail/domain/html-rules.ts';
import { cleanDraftHtml, cleanHtml } from '../../../workers/mail/mime/clean-html.ts';

const RICH = '<div class="tessera-rich" dir="auto" style="white-space:pre-wrap">';
const styled = (style: string) => `<span style="${style}">word</span>`;

/** What each tool of the editor makes, as `toMessageHtml` writes it. */
const MADE: Readonly<Record<string, string>> = {
  bold: '<b>Strong</b> and <b><i>both</i></b>',
  italic: '<i>soft</i><em>em</em><strong>strong</strong>',
  lines: '<div>one</div><div><br></div><div>two  spaces\u00a0and &quot;quotes&quot; &amp; &lt;b&gt;</div>',
  list: '<ul><li>first</li><li>second<ul><li>inner</li></ul></li></ul>',
  numbers: '<ol><li>first</li></ol>',
  quote: '<blockquote>said</blockquote>',
  clear: 'plain',
  link: '<a href="https://example.test/?a=1&amp;b=2">more</a><a href="mailto:a@b.test">mail</a>',
  ...Object.fromEntries(
    (['ink', 'mark', 'size'] as const).flatMap((kind) =>
      listClasses(kind).map((name) => [name, styled(toStyle(name, ['ink-red']))]),
    ),
  ),
  'colour of an earlier version': '<font style="color:#cb291d">word</font>',
  code: '<pre>one\n  two</pre><div>a <code>b</code></div>',
  'struck out': '<u>under</u><s>struck</s>',
  table: `<table style="${TABLE_STYLES.table}"><tbody><tr><td style="${TABLE_STYLES.td}"><br></td><td style="${TABLE_STYLES.td}">x</td></tr></tbody></table>`,
  picture: '<img alt="a &quot;b&quot;.png" src="cid:6f9619ff-8b86-d011-b42d-00cf4fc964ff@attachment">',
  'remote picture of a quote': '<img src="https://pics.test/a.png" alt="" width="300">',
};

const HOSTILE: readonly string[] = [
  '<div style="position:fixed;inset:0;background:#fff;z-index:99999">over</div>',
  '<div style="position&#58;fixed">over</div>',
  '<div style="&#112;osition:fixed">over</div>',
  '<div style="color:red;position:absolute">over</div>',
  '<div style="po\\73ition:fixed">over</div>',
  "<div style='position:fixed'>over</div>",
  '<div style=position:fixed>over</div>',
  '<DIV STYLE="position:fixed">over</DIV>',
  '<div data-style="position:fixed">over</div>',
  '<div class="modal">over</div><div class="tessera-rich modal">over</div>',
  '<div id="app" name="app" contenteditable="false" popover="manual" hidden="">over</div>',
  '<script>x</script><style>*{position:fixed}</style><iframe src="https://a.test"></iframe>',
  '<form action="https://evil.test"><input name="a"><button>b</button></form>',
  '<dialog open>over</dialog><svg><text>t</text></svg>',
  '<a href="javascript:x">a</a><a href="java&#115;cript:x">b</a><a href="&Tab;javascript:x">c</a>',
  '<a href="https://a.test" target="_top">a</a>',
  '<img src="javascript:x"><img src="data:image/svg+xml;base64,PHN2Zz4="><img data-remote-src="javascript:x">',
  '<div><b>not closed</div>',
  `${'<div>'.repeat(300)}${'</div>'.repeat(300)}`,
  'a > b <!-- c --> <![CDATA[d]]> <?e?> <br/>',
];
const DANGER =
  /position|z-index|inset|modal|data-style|<(?:script|style|iframe|form|input|button|dialog|svg)|javascript|\bid=|name=|contenteditable|popover|hidden|_top|svg\+xml|<!|<\?/i;

describe('the HTML of a draft', () => {
  it.each(Object.entries(MADE))('keeps what the editor makes, byte for byte: %s', (_, made) => {
    for (const html of [made, `${RICH}${made}</div>`, `${RICH}a</div><br><div class="tessera-quote">${made}</div>`]) {
      expect(isWrittenByPage(html)).toBe(true);
      expect(cleanDraftHtml(html)).toBe(html);
    }
  });

  it('keeps a plain text with a quote, and both can still be told apart', () => {
    const quote = { html: cleanHtml('<p style="color:red">said "x"</p>') ?? '', text: 'said' };
    for (const rich of [null, '<b>text</b> &amp; more']) {
      const { html, body } = joinHtml('text & more', rich, quote);
      expect(cleanDraftHtml(html)).toBe(html);
      expect(splitHtml(cleanDraftHtml(html), body)).toMatchObject({ text: 'text & more', rich, quote });
    }
  });

  it.each(HOSTILE)('is cleaned, and stays the same when cleaned again: %#', (dirty) => {
    for (const html of [dirty, `${RICH}${dirty}</div>`, `<ul><li>${dirty}</li></ul>`]) {
      expect(isWrittenByPage(html)).toBe(false);
      const once = cleanDraftHtml(html);
      expect(once).not.toMatch(DANGER);
      expect(cleanDraftHtml(once)).toBe(once);
    }
    expect(cleanDraftHtml(`${RICH}${dirty}</div>`).startsWith(RICH)).toBe(true);
  });

  it('keeps the text and the ordinary formatting of other programs', () => {
    expect(cleanDraftHtml('<P>Carrots <B>and</B> leeks<BR>x</P><IMG SRC="https://pics.test/a.png" WIDTH=300>')).toBe(
      '<p>Carrots <b>and</b> leeks<br>x</p><img width="300" src="https://pics.test/a.png">',
    );
  });

  it('that is long is cleaned in linear time', () => {
    for (const piece of ['<b>x</b>', '<', '<div style="color:red">', '<a href="', '&quot;'])
      expect(typeof cleanDraftHtml(piece.repeat(200_000 / piece.length))).toBe('string');
  });
});

it('a style keeps only properties of the list', () => {
  expect(cleanStyle('color: red; Position: fixed ;z-index:1;margin:0')).toBe('color:red;margin:0');
  for (const property of ['position', 'inset', 'top', 'left', 'z-index', 'transform', 'translate', 'clip-path', 'zoom'])
    expect(cleanStyle(`${property}:0`)).toBe('');
  for (const property of ['opacity', 'pointer-events', 'animation', 'content', 'filter', 'overflow', 'cursor', '--x'])
    expect(cleanStyle(`${property}:0`)).toBe('');
});
