/**
 * Tests hostile HTML in Chromium's own parser, which may turn sanitised markup into something else. Uses the sanitised HTML of the
 * server, and raw HTML as if the server had not sanitised it. No script may run, no request may be sent, and the page may not
 * change.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { importLetters, letter, openRow, signIn } from './mail-page.ts';

const RUN = 'top.pwned=1';
/** Hostile HTML. Each list becomes one message. A test server listens at `LEAK`; no request may reach it. */
const VECTORS: readonly (readonly string[])[] = [
  [
    `<svg></p><style><a id="</style><img src=1 onerror=${RUN}>">`,
    `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${RUN}&gt;">`,
    `<math><mi><table><mglyph><style><math><mi></style><img src onerror=${RUN}></table></math>`,
    `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${RUN}>`,
    `<math><mtext><h1><a><h6></a></h6><mglyph><svg><mtext><style><a title="</style><img src onerror='${RUN}'>"></style></h1>`,
    `<svg><annotation-xml><foreignobject><style><!--</style><p id="--><img src=x onerror=${RUN}>">`,
    `<math><annotation-xml encoding="text/html"><p><style><img src=1 onerror=${RUN}></style></p></annotation-xml></math>`,
  ],
  [
    `<svg><foreignObject><iframe srcdoc="<script>${RUN}</script>"></iframe></foreignObject></svg>`,
    `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
    `<template><p title="</template><img src=x onerror=${RUN}>"></template>`,
    `<template shadowrootmode=open><img src=x onerror=${RUN}><slot></slot></template>`,
    `<xmp><p title="</xmp><img src=x onerror=${RUN}>"></xmp>`,
    `<title><p title="</title><img src=x onerror=${RUN}>">`,
    `<textarea><p title="</textarea><img src=x onerror=${RUN}>">`,
    `<noembed><p title="</noembed><img src=x onerror=${RUN}>"></noembed>`,
    `<select><option><style></option></select><img src=x onerror=${RUN}></style>`,
  ],
  [
    `<!--><img src=x onerror=${RUN}>-->`,
    `<!--!><img src=x onerror=${RUN}>-->`,
    `<![CDATA[><img src=x onerror=${RUN}>]]>`,
    `<svg><![CDATA[</svg><img src=x onerror=${RUN}>]]></svg>`,
    `<?xml-stylesheet href="javascript:${RUN}"?><?><img src=x onerror=${RUN}>`,
    `<img src="x\` \`<script>${RUN}</script>"\` \`>`,
    `<img/src=x/onerror=${RUN}//`,
    `<img src=x onerror\u0000=${RUN}><img src="x" alt="a"onerror="${RUN}">`,
    `<a href="java\tscript:${RUN}">t</a><a href="&#106;avascript:${RUN}">e</a><a href="\u0001javascript:${RUN}">c</a>`,
    `<details open ontoggle=${RUN}><summary>s</summary></details><input autofocus onfocus=${RUN}>`,
    `<svg><animate onbegin=${RUN} attributeName=x dur=1s><use href="data:image/svg+xml,<svg id=x onload=${RUN}>#x">`,
    `<object data="javascript:${RUN}"></object><embed src="javascript:${RUN}"><iframe src="javascript:${RUN}"></iframe>`,
  ],
  [
    '<img srcset="LEAK/srcset 1x" src="cid:none"><picture><source srcset="LEAK/source"><img></picture>',
    '<table background="LEAK/table"><td background="LEAK/td">t</td></table><body background="LEAK/body">',
    '<img src="LEAK/pixel" width=1 height=1><img src="LEAK/photo" width=90 height=90 loading=eager fetchpriority=high>',
    '<div style="background:url(LEAK/style)">s</div><div style="background:u\\72l(LEAK/escaped)">e</div>',
    '<div style="list-style:url(LEAK/list);cursor:url(LEAK/cursor),auto;content:url(LEAK/content)">l</div>',
    '<div style="background-image:image-set(\'LEAK/set\' 1x);mask:url(LEAK/mask);filter:url(LEAK/filter#f)">i</div>',
    '<style>@import url(LEAK/import);@font-face{font-family:f;src:url(LEAK/font)}*{font-family:f;background:url(LEAK/all)}</style>',
    '<link rel=stylesheet href="LEAK/link"><link rel=prefetch href="LEAK/prefetch"><link rel=preconnect href="LEAK"><link rel=icon href="LEAK/icon">',
    '<meta http-equiv=refresh content="0;url=LEAK/refresh"><base href="LEAK/base/"><img src="relative">',
    '<video src="LEAK/video" poster="LEAK/poster" autoplay><track src="LEAK/track"></video><audio src="LEAK/audio" autoplay></audio>',
    '<iframe src="LEAK/frame"></iframe><object data="LEAK/object"></object><embed src="LEAK/embed"><portal src="LEAK/portal"></portal>',
    '<svg><image href="LEAK/image"/><feImage href="LEAK/fe"/><use href="LEAK/use#a"/></svg><input type=image src="LEAK/input">',
    '<a href="https://example.test/" ping="LEAK/ping">p</a><form action="LEAK/form"><input name=a><button>b</button></form>',
    '<img data-remote-src="LEAK/held" width=50 height=50><img src="//LEAKHOST/relative"><p><font face="x" style="font-family:url(LEAK/face)">f</font>',
  ],
  [
    '<form id=body name=body><input name=parentNode><input name=attributes><input id=nodeName></form>',
    '<img name=cookie id=location><a id=defaultView href="cid:x"></a><img id=root name=root><iframe name=top></iframe>',
    '<form id=documentElement><img name=contentDocument></form><a id=trustedTypes></a><a id=trustedTypes name=createPolicy></a>',
    '<b is="x-y" slot=a id=querySelectorAll class=modal contenteditable tabindex=1 accesskey=c style="position:fixed;inset:0;z-index:9">x</b>',
  ],
  // Elements and comments that swallow all following markup.
  [`<p>first</p><plaintext><img src=x onerror=${RUN}>`],
  [`<p>first</p><!-- <img src=x onerror=${RUN}>`],
  [`<p title="<p>first</p><img src=x onerror=${RUN}>`],
];

describe.skipIf(!hasChromium)('hostile HTML', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open' } });
  let foreign: Server;
  const leaks: string[] = [];
  let messages: readonly string[] = [];
  let user: MailUser;

  beforeAll(async () => {
    foreign = createServer((request, response) => {
      leaks.push(request.url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(foreign.address() as AddressInfo).port}`;
    messages = VECTORS.map((group, n) => {
      const hostile = group.join('\n').replaceAll('LEAKHOST', host).replaceAll('LEAK', `http://${host}`);
      return `<p>Letter ${n} begins.</p>\n${hostile}`;
    });
    user = await registerUser(stage.server, 'target');
    const more = 'References: <first@far.test>\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n';
    await importLetters(
      stage.server,
      user,
      messages.map((html) => letter(user, 'You have won', html, more)),
    );
  });
  afterAll(() => foreign?.close());

  /** Opens the conversation with all hostile messages and checks what Chromium made of them. */
  async function expectHarmless(page: Page): Promise<void> {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await openRow(page, 'You have won');
    for (const n of messages.keys()) {
      await page.frameLocator('iframe.message-frame').nth(n).getByText(`Letter ${n} begins.`).waitFor();
    }
    // Wait, so that refresh timers and the error handlers of images can run.
    await page.waitForTimeout(500);
    const frames = page.frames().filter((frame) => frame !== page.mainFrame());
    expect(frames).toHaveLength(messages.length);
    for (const frame of frames) {
      expect(new URL(frame.url()).pathname).toBe('/_/mail-frame');
      const found = await frame.evaluate(() => {
        const all = [...document.body.querySelectorAll('*')];
        const isBad = (name: string) =>
          /^(on|srcset|srcdoc|background|poster|ping|action|formaction|id$|name$|class$|xlink)/.test(name);
        return {
          elements: all
            .map((each) => each.localName)
            .filter((name) =>
              /^(script|style|link|meta|base|svg|math|form|input|button|select|textarea|template|iframe|object|embed|video|audio|title)$/.test(
                name,
              ),
            ),
          attributes: all.flatMap((each) => each.getAttributeNames()).filter(isBad),
          links: all
            .flatMap((each) => each.getAttribute('href') ?? [])
            .filter((href) => !/^(https?|mailto|tel):/.test(href)),
          shadows: all.filter((each) => each.shadowRoot !== null).length,
          isItself: document.body instanceof HTMLBodyElement && document.documentElement instanceof HTMLHtmlElement,
        };
      });
      expect(found).toEqual({ elements: [], attributes: [], links: [], shadows: 0, isItself: true });
    }
    expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false);
    expect(leaks).toEqual([]);
    // Requests to `cid:` URLs are allowed in the record, because the policy blocks them before they are sent.
    const own = [`${stage.server.url}/_/`, `${stage.server.url}/v1/`, 'data:', 'blob:', 'cid:'];
    expect(asked.filter((url) => !own.some((start) => url.startsWith(start)))).toEqual([]);
    expect(new URL(page.url()).pathname).toBe('/_/mail');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  }

  it('is harmless after the server has sanitised it', async () => {
    const { page } = await signIn(stage.server, stage.browser, user);
    await expectHarmless(page);
    await page.context().close();
  });

  it('is harmless without the server: the page sanitises it again, and its frame has no rights', async () => {
    await stage.server.call('POST', '/v1/messages/batch', { message_ids: await inbox(), is_read: false }, user.token);
    const { page } = await signIn(stage.server, stage.browser, user);
    await page.route('**/v1/threads/**', async (route) => {
      const response = await route.fetch();
      const thread = (await response.json()) as { data: { html: string }[] };
      for (const [n, message] of thread.data.entries()) message.html = messages[n] ?? '';
      await route.fulfill({ response, json: thread });
    });
    await expectHarmless(page);
    await page.context().close();
  });

  it('shows attached pictures, and nothing else that claims to be one', async () => {
    const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const part = (type: string, cid: string, bytes: string) =>
      `--b\nContent-Type: ${type}\nContent-ID: <${cid}>\nContent-Transfer-Encoding: base64\n\n${bytes}\n`;
    const svg = btoa(
      `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="${RUN}"><script>${RUN}</script></svg>`,
    );
    const html =
      '<p>Pictures.</p><img src="cid:%E0%A4%A" alt="none"><img src="cid:a&quot;&gt;&lt;b" alt="odd"><img src="cid:logo@x" alt="logo"><img src="cid:drawn@x" alt="drawn"><img src="cid:page@x" alt="page">';
    const body = `--b\nContent-Type: text/html; charset=utf-8\n\n${html}\n${part('image/png', 'logo@x', picture)}${part('text/html', 'logo@x', btoa('second'))}${part('image/svg+xml', 'drawn@x', svg)}${part('text/html', 'page@x', btoa('<p>'))}--b--`;
    const other = await registerUser(stage.server, 'pictured');
    const more = 'MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n';
    await importLetters(stage.server, other, [letter(other, 'Two of a name', body, more)]);
    const { page, troubles } = await signIn(stage.server, stage.browser, other);
    await openRow(page, 'Two of a name');
    const widthOf = (alt: string) =>
      page
        .frameLocator('iframe.message-frame')
        .getByAltText(alt, { exact: true })
        .evaluate((image) => (image as HTMLImageElement).naturalWidth);
    await eventually(() => widthOf('logo')).toBe(1);
    await eventually(() => widthOf('drawn')).toBe(9);
    expect([await widthOf('none'), await widthOf('odd'), await widthOf('page')]).toEqual([0, 0, 0]);
    expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false);
    expect(troubles.filter((trouble) => !trouble.includes("'cid:"))).toEqual([]);
    await page.context().close();
  });

  async function inbox(): Promise<string[]> {
    const { body } = await stage.server.call('GET', '/v1/folders/inbox/messages', undefined, user.token);
    return body.data.map(({ id }: { id: string }) => id);
  }
});
