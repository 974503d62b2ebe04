import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';

const encode = (text: string, charset: string): Buffer =>
  execFileSync('iconv', ['-f', 'utf-8', '-t', charset], { input: text });

const SAMPLES: readonly (readonly [string, string])[] = [
  ['gb2312', '您好，世界。会议改到下午三点'],
  ['gbk', '繁體與简体'],
  ['gb18030', '𠮷野家'],
  ['big5', '會議改到下午三點'],
  ['iso-2022-jp', 'こんにちは、世界'],
  ['shift_jis', '件名：テスト'],
  ['euc-jp', '明日の会議'],
  ['euc-kr', '안녕하세요'],
  ['koi8-r', 'Привет, мир'],
  ['koi8-u', 'Ґанок і їжак'],
  ['windows-1250', 'Příliš žluťoučký kůň'],
  ['windows-1251', 'Съешь ещё этих булок'],
  ['windows-1252', '“quotes” — 5 €'],
  ['windows-1253', 'Καλημέρα κόσμε'],
  ['windows-1254', 'Şişli’de ığdır'],
  ['windows-1255', 'שלום עולם'],
  ['windows-1256', 'مرحبا بالعالم'],
  ['windows-1257', 'Ąžuolėlis'],
  ['windows-1258', 'Đa'],
  ['iso-8859-2', 'Zażółć gęślą jaźń'],
  ['iso-8859-15', 'œuvre à 5 €'],
];

describe('a message in another charset', () => {
  it.each(SAMPLES)('decodes %s in body, subject, sender and file name', async (charset, text) => {
    const encoded = encode(text, charset);
    const word = `=?${charset}?B?${encoded.toString('base64')}?=`;
    const raw = Buffer.concat([
      Buffer.from(
        `From: ${word} <a@elsewhere.test>\r\nSubject: ${word}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset="${charset}"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n`,
      ),
      encoded,
      Buffer.from(
        `\r\n--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="${word}"\r\n\r\nx\r\n--b--\r\n`,
      ),
    ]);
    const parsed = await parseMessage(raw);
    expect(parsed.text.trim()).toBe(text);
    expect(parsed.subject).toBe(text);
    expect(parsed.from?.name).toBe(text);
    expect(parsed.attachments[0]?.fileName).toBe(text);
  });

  it('is not decoded from UTF-7, so that no tags appear', async () => {
    const raw = Buffer.from(
      'From: a@elsewhere.test\r\nSubject: =?utf-7?Q?+ADw-script+AD4-?=\r\nContent-Type: text/html; charset=utf-7\r\n\r\n+ADw-img src=x onerror=alert(1)+AD4- hello\r\n',
    );
    const parsed = await parseMessage(raw);
    expect(parsed.html ?? '').not.toMatch(/<img|<script/);
    expect(parsed.text).toContain('hello');
  });

  it('yields text even if the charset is unknown or wrong', async () => {
    for (const charset of ['x-unknown', 'utf-8', '"', 'us-ascii', 'cp437', 'unicode-1-1-utf-7']) {
      const raw = Buffer.concat([
        Buffer.from(`From: a@elsewhere.test\r\nContent-Type: text/plain; charset=${charset}\r\n\r\nplain `),
        Buffer.from([0xe9, 0xff, 0x80]),
        Buffer.from(' end\r\n'),
      ]);
      const { text } = await parseMessage(raw);
      expect(text).toMatch(/^plain .* end/);
      expect(text.isWellFormed()).toBe(true);
    }
  });

  it('with raw 8-bit headers is read as UTF-8 if they are valid UTF-8', async () => {
    const parsed = await parseMessage(Buffer.from('From: Zoë <z@elsewhere.test>\r\nSubject: Grüße\r\n\r\nx'));
    expect([parsed.subject, parsed.from?.name]).toEqual(['Grüße', 'Zoë']);
  });
});

describe('an incomplete message', () => {
  it.each([
    ['no Date', 'From: a@x.test\r\nSubject: s\r\n\r\nbody', { subject: 's', sentAt: null }],
    ['no From', 'Subject: s\r\n\r\nbody', { from: null, text: 'body\n' }],
    ['no body', 'From: a@x.test\r\nSubject: s\r\n\r\n', { subject: 's', html: null }],
    ['no blank line', 'From: a@x.test\r\nSubject: s', { subject: 's' }],
    ['nothing', '', { from: null, subject: '', sentAt: null, attachments: [] }],
    ['an invalid Date', 'Date: yesterday\r\nFrom: a@x.test\r\n\r\n', { sentAt: null }],
    ['a Date before 1970', 'Date: Mon, 01 Jan 1900 00:00:00 +0000\r\n\r\n', { sentAt: null }],
    ['two From lines', 'From: a@x.test\r\nFrom: b@x.test\r\n\r\n', {}],
    ['an empty From', 'From: \r\n\r\nx', {}],
    ['bare line feeds', 'From: a@x.test\nSubject: s\n\nbody\n', { subject: 's' }],
  ])('%s', async (_, raw, expected) => {
    expect(await parseMessage(Buffer.from(raw))).toMatchObject(expected);
  });
});
