import { describe, expect, it } from 'vitest';
import { cleanHtml, showRemoteImages } from '../../../workers/mail/mime/clean-html.ts';

const clean = (html: string): string => cleanHtml(html) ?? '';

/** Lists the tags of a text as a parser sees them, with quoted attributes. */
const tagsOf = (html: string) =>
  [...html.matchAll(/<(\/?)([^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)>/g)].map(([, , name = '', rest = '']) => ({
    name: name.toLowerCase(),
    attributes: [...rest.matchAll(/([^\s=/"']+)(?:="([^"]*)")?/g)].map(
      ([, key = '', value = '']) => [key, value] as const,
    ),
  }));

const INERT_TAGS =
  /^(?:a|abbr|address|article|aside|b|bdi|bdo|big|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|dfn|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|i|img|ins|kbd|li|main|mark|nav|ol|p|pre|q|rp|rt|ruby|s|samp|section|small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|wbr)$/;

/** Expects cleaned HTML that cannot run, load or submit anything, and that every parser reads in the same way. */
function expectInert(html: string): void {
  for (const { name, attributes } of tagsOf(html)) {
    expect(name).toMatch(INERT_TAGS);
    for (const [key, value] of attributes) {
      expect(key).not.toMatch(
        /^(?:on|srcset|srcdoc|action|formaction|background|poster|ping|xlink|xmlns|id|class|name|is|slot|http-equiv)/i,
      );
      if (key === 'href') expect(value).toMatch(/^(?:https?:|mailto:|tel:)/i);
      if (key === 'src') expect(value).toMatch(/^(?:cid:|data:image\/(?:png|gif|jpeg|webp);base64,)/i);
      if (key === 'data-remote-src') expect(value).toMatch(/^https?:\/\//i);
      if (key === 'style')
        expect(value).not.toMatch(
          /url|@|\\|\(|expression|position|behavior|binding|javascript|z-index|transform|content|animation/i,
        );
    }
  }
  expect(html).not.toContain('<!--');
  expect(html).not.toMatch(/<[!?]/);
}

const RUNS: readonly string[] = [
  '<svg><style><img src=x onerror=alert(1)></style></svg>',
  '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  '<math><mi><table><mglyph><style><math><mi></style><img src onerror=alert(1)></table></math>',
  '<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  '<math><annotation-xml encoding="text/html"><p><style><img src=1 onerror=alert(1)></style></p></annotation-xml></math>',
  '<svg><foreignObject><iframe srcdoc="<script>alert(1)</script>"></foreignObject></svg>',
  '<svg><desc><noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<noembed><p title="</noembed><img src=x onerror=alert(1)>">',
  '<noframes><p title="</noframes><img src=x onerror=alert(1)>">',
  '<xmp><p title="</xmp><img src=x onerror=alert(1)>">',
  '<title><p title="</title><img src=x onerror=alert(1)>">',
  '<textarea><p title="</textarea><img src=x onerror=alert(1)>">',
  '<template><p title="</template><img src=x onerror=alert(1)>">',
  '<plaintext><img src=x onerror=alert(1)>',
  '<listing>&lt;img src=x onerror=alert(1)&gt;</listing>',
  '<select><option><style></option></select><img src=x onerror=alert(1)></style>',
  '<!--><img src=x onerror=alert(1)>-->',
  '<!--!><img src=x onerror=alert(1)>',
  '<![CDATA[><img src=x onerror=alert(1)>]]>',
  '<?xml-stylesheet href="javascript:alert(1)"?><?><img src=x onerror=alert(1)>',
  '<img src="x` `<script>alert(1)</script>"` `>',
  '<img src=x onerror\u0000=alert(1)>',
  '<img/src=x/onerror=alert(1)//',
  '<a href="java\tscript:alert(1)">t</a><a href="&#106;avascript:alert(1)">e</a><a href="\u0001javascript:alert(1)">c</a>',
  '<a href="vbscript:x">v</a><a href="data:text/html,<script>alert(1)</script>">d</a><a href="//evil.test/">p</a>',
  '<a href="blob:https://x/y">b</a><a href="filesystem:x">f</a><a xlink:href="javascript:alert(1)">x</a>',
  '<b is="x-y" slot=a id=top class=modal name=body onclick=alert(1)>clobber</b><img name=cookie src="cid:a">',
  '<form id=f action=//evil.test><input name=a autofocus onfocus=alert(1)><button formaction=javascript:alert(1)>b</button></form>',
  '<details open ontoggle=alert(1)><summary>s</summary></details><video poster=//evil.test><source src=x onerror=alert(1)></video>',
  '<object data="javascript:alert(1)"></object><embed src=javascript:alert(1)><applet code=x></applet><portal src=//evil.test></portal>',
  '<meta http-equiv="refresh" content="0;url=javascript:alert(1)"><base href="//evil.test/"><link rel=stylesheet href=//evil.test>',
  '<table background="https://evil.test/a.png"><td background="javascript:alert(1)">t</td></table><body background=//evil.test>',
  '<div style="position:fixed;top:0;left:0;width:100%;height:100%;z-index:9999">over the page</div>',
  '<div style="background:u\\72l(https://evil.test/a)">escaped</div><div style="background-image:image-set(\'https://evil.test/a\' 1x)">s</div>',
  '<div style="color:red;/*x*/background:url(&quot;https://evil.test/a&quot;)">u</div><p style="width:expression(alert(1))">e</p>',
  '<div style=\'font-family:"a;}</style><script>alert(1)</script>"\'>q</div><style>@import url(//evil.test)</style>',
  '<p style="background:-webkit-cross-fade(url(a),url(b),50%)">c</p><p style="list-style:url(//evil.test/a)">l</p>',
  '<p style="--x:url(//evil.test);background:var(--x)">v</p><p style="transform:scale(99)">t</p><p style="content:attr(x)">c</p>',
  '<svg><use href="data:image/svg+xml,<svg id=x><script>alert(1)</script></svg>#x"></use><image href=//evil.test /></svg>',
  '<svg><animate attributeName=href values=javascript:alert(1) /><a><text>t</text></a><set onbegin=alert(1)></set></svg>',
  '<img src="data:image/svg+xml;base64,PHN2Zz4=">',
  '<img srcset="https://evil.test/a.png 1x" src="cid:x"><picture><source srcset=//evil.test/b></picture>',
  '<img src="cid:a" data-remote-src="javascript:alert(1)"><img data-remote-src="https://evil.test/pixel" width=1 height=1>',
];

describe('cleaned HTML', () => {
  it.each(RUNS)('is inert, and does not change when cleaned again: %s', (dirty) => {
    for (const html of [dirty, `<div>${dirty}`, `<table><tr><td>${dirty}</td></tr></table>`, `${dirty}${dirty}`]) {
      const once = clean(html);
      expectInert(once);
      expectInert(showRemoteImages(once).replaceAll(/ src="https?:[^"]*"/g, ''));
      expect(clean(once)).toBe(once);
    }
  });

  it('contains no tracking pixel, however hidden, and remote images only on request', () => {
    for (const pixel of [
      '<img src="https://t.test/p" width=1 height=1>',
      '<img src="https://t.test/p" width="1px">',
      '<img src="https://t.test/p" height=0>',
      '<img src="https://t.test/p" style="width:1px !important">',
      '<img src="https://t.test/p" style="max-height: 0">',
      '<img src="https://t.test/p" style="opacity:0">',
      '<img src="https://t.test/p" style="visibility:hidden">',
      '<img data-remote-src="https://t.test/p" width=1>',
    ]) {
      expect(clean(pixel), pixel).not.toContain('t.test');
    }
    const picture = clean('<img src="https://pics.test/a.png" alt="x data-remote-src=" width=300>');
    expect(picture).not.toMatch(/ src="/);
    expect(showRemoteImages(picture)).toContain('width="300" src="https://pics.test/a.png"');
  });

  it('keeps the markup of an ordinary letter', () => {
    const letter =
      '<h1 style="color:#333;font-family:Arial, sans-serif">Hello</h1><p align="center">A <b>bold</b> <a href="mailto:a@b.test">word</a></p><img src="cid:logo@x" width="80" alt="Logo" /><table border="1"><tbody><tr><td colspan="2">1</td></tr></tbody></table>';
    expect(clean(letter)).toBe(
      letter
        .replace('href="mailto:a@b.test"', 'href="mailto:a@b.test" rel="noopener noreferrer nofollow" target="_blank"')
        .replace('src="cid:logo@x" width="80" alt="Logo"', 'width="80" alt="Logo" src="cid:logo@x"'),
    );
  });

  it('handles ten thousand nested elements and a megabyte of brackets', () => {
    expectInert(clean('<div>'.repeat(10_000)));
    expectInert(clean('<'.repeat(1_000_000)));
    expectInert(clean(`<p style="${'color:red;'.repeat(50_000)}">x</p>`));
  });
});
