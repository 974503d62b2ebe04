/** HTML that is too long to be cleaned is shown by the text of its beginning, and marked, in place of nothing. */
import { expect, it } from 'vitest';
import { isCutText } from '../../../workers/mail/domain/cut-text.ts';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';

const HEAD = 'From: Ann <ann@far.test>\r\nSubject: Long\r\nContent-Type: text/html; charset=utf-8\r\n\r\n';
const parse = (html: string) => parseMessage(Buffer.from(HEAD + html));

it('14 MB of HTML are shown by their beginning, and marked', async () => {
  const line = `<p>${'The minutes of the meeting go on and on. '.repeat(5_000)}</p>\n`;
  const parsed = await parse(`<h1>Minutes</h1>${line.repeat(14_000_000 / line.length)}`);
  expect(parsed.html).toBeNull();
  expect(parsed.text).toMatch(/^Minutes\s+The minutes of the meeting go on and on\./);
  expect(parsed.text.length).toBeLessThan(1_000_000);
  expect(isCutText(parsed.text)).toBe(true);
});

it('text behind a large embedded picture is found', async () => {
  const picture = `<img src="data:image/png;base64,${'iVBORw0KGgo='.repeat(600_000)}">`;
  const parsed = await parse(`<p>Before</p>${picture}<style>p{color:red}</style><p>After</p>`);
  expect(parsed.text).toMatch(/^Before\s+After\n/);
  expect(isCutText(parsed.text)).toBe(true);
});

it('a long message whose text is short has the mark, and one that is shown whole has not', async () => {
  expect(isCutText((await parse(`<style>${' '.repeat(6_000_000)}</style>`)).text)).toBe(true);
  const short = await parse('<p>Short</p>');
  expect([short.text, isCutText(short.text)]).toEqual(['Short', false]);
});

it.each([
  ['', 'HTML beside an empty plain text'],
  ['In short', 'In short'],
])('beside the plain text %j, the text is %j', async (plain, expected) => {
  const html = `<p>HTML beside an empty plain text</p><style>${' '.repeat(6_000_000)}</style>`;
  const parts = `--b\r\nContent-Type: text/plain\r\n\r\n${plain}\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`;
  const head = 'From: a@far.test\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n';
  const { text, html: shown } = await parseMessage(Buffer.from(head + parts));
  expect([text.split('\n')[0], isCutText(text), shown]).toEqual([expected, true, null]);
});
