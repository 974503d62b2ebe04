import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cleanFileName, makeNamesUnique } from '../../../workers/mail/domain/attachment-name.ts';
import { cleanHtml, showRemoteImages, toPlainText } from '../../../workers/mail/mime/clean-html.ts';
import { LINES_MAX, parseMessage } from '../../../workers/mail/mime/parse.ts';
import { readCorpus } from '../../support/mail/corpus.ts';

const bytes = (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'));

describe('a parsed message', () => {
  it('has decoded headers, body and attachments with unique names', async () => {
    const parsed = await parseMessage(
      bytes(`From: =?utf-8?q?Ren=C3=A9?= <rene@elsewhere.test>
To: Team: a@example.test, "B, C" <b@example.test>;
Subject: =?utf-8?B?5L2g5aW9?=
Date: Tue, 03 Feb 2026 04:05:06 +0100
Message-ID: <1@elsewhere.test>
In-Reply-To: <0@elsewhere.test>
References: <r@elsewhere.test>
 <0@elsewhere.test>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

caf=E9
--b
Content-Type: application/pdf; name="../a.pdf"
Content-Transfer-Encoding: base64

AAEC
--b
Content-Type: application/pdf; name="A.pdf"
Content-Transfer-Encoding: base64

AwQF
--b--
`),
    );
    expect(parsed).toMatchObject({
      from: { name: 'René', email: 'rene@elsewhere.test' },
      to: [
        { name: '', email: 'a@example.test' },
        { name: 'B, C', email: 'b@example.test' },
      ],
      subject: '你好',
      sentAt: Date.UTC(2026, 1, 3, 3, 5, 6),
      messageId: '<1@elsewhere.test>',
      inReplyTo: '<0@elsewhere.test>',
      references: ['<r@elsewhere.test>', '<0@elsewhere.test>'],
      html: null,
      isComplete: true,
    });
    expect(parsed.text.trim()).toBe('café');
    expect(
      parsed.attachments.map(({ fileName, pieces }) => [
        fileName,
        pieces.flatMap((piece) => ('cut' in piece ? [] : [...piece])),
      ]),
    ).toEqual([
      ['a.pdf', [0, 1, 2]],
      ['A (2).pdf', [3, 4, 5]],
    ]);
  });

  it('has plain text made from its HTML if it has no text part', async () => {
    const parsed = await parseMessage(
      bytes('Content-Type: text/html\n\n<style>p{}</style><p>One &amp; two</p><ul><li>three<script>x</script></ul>'),
    );
    expect(parsed.text).toBe('One & two\n\nthree');
  });

  it('keeps headers and a note if it has 1,001 parts in all, 51 levels or 400,001 lines', async () => {
    const parts = (count: number) =>
      bytes(`Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n${'--b\n\nx\n'.repeat(count)}--b--\n`);
    expect((await parseMessage(parts(999))).isComplete).toBe(true);
    expect(await parseMessage(parts(1_000))).toMatchObject({ subject: 's', isComplete: false, attachments: [] });
    expect(await parseMessage(bytes(`Subject: long\n\n${'\n'.repeat(LINES_MAX)}`))).toMatchObject({
      subject: 'long',
      isComplete: false,
    });
    let nested = 'Content-Type: text/plain\n\nx';
    for (let n = 0; n < 60; n += 1)
      nested = `Content-Type: multipart/mixed; boundary=b${n}\n\n--b${n}\n${nested}\n--b${n}--`;
    expect(await parseMessage(bytes(`Subject: deep\n${nested}`))).toMatchObject({ subject: 'deep', isComplete: false });
  });

  it('is returned for any bytes', async () => {
    for (const raw of [
      '',
      '\n\n',
      'no header',
      ':\n:\n\n',
      '\u0000\u0001',
      'Content-Type: multipart/mixed; boundary=""\n\n--\n',
    ]) {
      expect((await parseMessage(Buffer.from(raw))).attachments).toEqual([]);
    }
  });
});

describe('cleaned HTML', () => {
  it('contains nothing that runs, submits, frames or loads styles', () => {
    const dirty = `<p onclick="x()" style="color:red;background:url(http://t/x);position:fixed">t</p><script>alert(1)</script>
      <form action="/x"><input name=a><button>b</button></form><iframe src="http://x"></iframe><link rel=stylesheet href=//x>
      <style>@import "http://x"</style><a href="javascript:alert(1)">j</a><svg><script>1</script></svg><base href="http://x">
      <a href="https://ok.test/">ok</a><img src=x onerror=alert(1)><meta http-equiv=refresh content="0;url=http://x">`;
    const clean = cleanHtml(dirty) ?? '';
    expect(clean).not.toMatch(
      /script|onclick|onerror|<form|<input|<button|iframe|<link|<style|@import|javascript|<svg|<base|<meta|url\(|position/i,
    );
    expect(clean).toContain('color:red');
    expect(clean).toContain('<a href="https://ok.test/" rel="noopener noreferrer nofollow" target="_blank">ok</a>');
  });

  it('loses tracking pixels, keeps embedded images, and holds back remote ones', () => {
    const clean =
      cleanHtml(
        `<img src="https://t.test/o.gif" width=1 height=1><img src="https://t.test/h" style="display:none"><img src="cid:a@b">
       <img alt="pic" src="https://pics.test/a.png"><img src="data:text/html;base64,AAAA"><img src="data:image/png;base64,AAAA">`,
      ) ?? '';
    expect(clean).not.toContain('t.test');
    expect(clean).not.toContain('text/html');
    expect(clean).toContain('src="cid:a@b"');
    expect(clean).toContain('data-remote-src="https://pics.test/a.png"');
    expect(clean).not.toMatch(/ src="https/);
    expect(showRemoteImages(clean)).toMatch(/<img[^>]* src="https:\/\/pics\.test\/a\.png"/);
  });

  it('converts to text with its lines', () => {
    expect(toPlainText(cleanHtml('<h1>T</h1>a<br>b<table><tr><td>1</td><td>2</td></tr></table>&lt;x&gt;') ?? '')).toBe(
      'T\na\nb\n\n1 2\n\n<x>',
    );
  });
});

describe('attachment names', () => {
  it('lose paths and control characters, and are never empty', () => {
    expect(cleanFileName('C:\\x\\y.doc', 'a/b')).toBe('y.doc');
    expect(cleanFileName('..', 'application/pdf')).toBe('attachment.pdf');
    expect(cleanFileName(null, 'image/png')).toBe('attachment.png');
    expect(cleanFileName('a\u202egpj.exe', 'a/b')).toBe('agpj.exe');
    expect(cleanFileName(`${'x'.repeat(500)}.pdf`, 'a/b')).toHaveLength(200);
  });

  it('are unique, even if some look numbered already', () => {
    expect(makeNamesUnique(['a.pdf', 'a (2).pdf', 'A.pdf', 'a.pdf', 'b'])).toEqual([
      'a.pdf',
      'a (2).pdf',
      'A (3).pdf',
      'a (4).pdf',
      'b',
    ]);
  });
});

const corpus = join(import.meta.dirname, '../../../../shared/data/spam-training.tar.gz');
describe.skipIf(!existsSync(corpus))('the public corpus', () => {
  it('parses without an exception, and each message has a sender and a body', { timeout: 120_000 }, async () => {
    let count = 0;
    let withSender = 0;
    for (const { raw } of readCorpus(corpus)) {
      const parsed = await parseMessage(raw);
      count += 1;
      withSender += parsed.from ? 1 : 0;
      expect(parsed.isComplete).toBe(true);
    }
    expect(count).toBe(3_000);
    expect(withSender).toBeGreaterThan(2_990);
  });
});
