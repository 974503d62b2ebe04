/** Tests the texts, names and files that a person sees of a message, in forms of real mail. `\u00xx` in raw text is a byte. */
import { describe, expect, it } from 'vitest';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';

const raw = (text: string) => Buffer.from(text, 'latin1');
const parse = (text: string) => parseMessage(raw(text));
const utf8 = (text: string) => Buffer.from(text).toString('latin1');
const textOf = async (head: string, body: string) => (await parse(`${head}\n\n${body}`)).text.replace(/\n$/, '');
const bytesOf = (file: { pieces: readonly unknown[] } | undefined) =>
  Buffer.concat((file?.pieces ?? []).filter((piece) => piece instanceof Uint8Array)).toString('latin1');
const mixed = (...parts: string[]) =>
  `Content-Type: multipart/mixed; boundary=b\n\n${parts.map((part) => `--b\n${part}\n`).join('')}--b--\n`;

describe('a named text part', () => {
  const notes = 'Content-Type: text/plain; name=notes.txt\nContent-Disposition: inline; filename=notes.txt\n\nNOTES';
  const page = 'Content-Type: text/html; name=page.html\nContent-Disposition: inline\n\n<b>PAGE</b>';
  const body = 'Content-Type: text/plain\n\nSee';
  const html = 'Content-Type: text/html\n\n<p>See</p>';
  const multi = (type: string, ...parts: string[]) =>
    `Content-Type: multipart/${type}; boundary=c\n\n${parts.map((part) => `--c\n${part}\n`).join('')}--c--`;
  it.each([
    ['after the text', mixed(body, notes, page), 'See', ['notes.txt', 'page.html']],
    ['as the first body part', mixed(notes, body), 'NOTES\n\nSee', []],
    ['as the whole message', `${notes}\n`, 'NOTES', []],
    ['after an alternative', mixed(multi('alternative', body, html), notes), 'See', ['notes.txt']],
    ['as an alternative', mixed(multi('alternative', body, page)), 'See', []],
    ['between texts of Apple Mail', mixed(body, notes, body), 'See\n\nSee', ['notes.txt']],
    ['first in a nested multipart', mixed(body, multi('mixed', notes, body)), 'See\n\nSee', ['notes.txt']],
    ['beside related HTML', mixed(multi('related', html, page)), 'See', ['page.html']],
    [
      'with a name in the content type only',
      mixed(body, 'Content-Type: text/plain; name="a b.txt"\n\nx'),
      'See',
      ['a b.txt'],
    ],
    [
      'with an encoded name',
      mixed(body, "Content-Type: text/plain\nContent-Disposition: inline; filename*=utf-8''%C3%A4.txt\n\nx"),
      'See',
      ['ä.txt'],
    ],
    ['without a name', mixed(body, 'Content-Type: text/plain\nContent-Disposition: inline\n\nx'), 'See\n\nx', []],
    ['with an empty name', mixed(body, 'Content-Type: text/plain; name=""\n\nx'), 'See\n\nx', []],
    ['as an attachment that is first', mixed(notes.replace('inline', 'attachment'), body), 'See', ['notes.txt']],
    ['after an empty text', mixed('Content-Type: text/plain\n', notes), '', ['notes.txt']],
    ['in a message cut at the end', mixed(body, notes).slice(0, -10), 'See', ['notes.txt']],
    ['with a broken disposition', mixed(body, notes.replace('inline;', ';;')), 'See', ['notes.txt']],
  ])('%s', async (_, message, text, names) => {
    const parsed = await parse(message);
    expect([parsed.text.trim(), parsed.attachments.map(({ fileName }) => fileName)]).toEqual([text, names]);
  });
});

describe('flowed text', () => {
  it.each([
    ['joins quotes', '> long \n> line\n', '> long line'],
    ['joins deep quotes', '>> a \n>> b\n> c\n', '>> a b\n> c'],
    ['keeps depths apart', '> a \n>> b\nc\n', '> a\n>> b\nc'],
    ['joins unquoted lines', 'a \nb\nc\n', 'a b\nc'],
    ['removes stuffed blanks', ' >not a quote\n From me\n  two\n', '>not a quote\nFrom me\n two'],
    ['removes stuffed blanks in quotes', '>  a \n>  b\n', '>  a  b'],
    ['knows quotes without blanks', '>a \n>b\n', '> ab'.replace('ab', 'a b')],
    ['keeps the signature', 'a \n-- \nAnn \nLee\n', 'a \n-- \nAnn Lee'],
    ['keeps a quoted signature', '> a\n> -- \n> Ann\n', '> a\n> --\n> Ann'],
    ['ends a paragraph at an empty quote', '> a\n>\n> b\n', '> a\n>\n> b'],
    ['joins over CRLF', '> a \r\n> b\r\n', '> a b'],
    ['ends at the end of the text', 'a ', 'a '],
    ['is not confused by blanks only', ' \n  \nx', '\n x'],
    ['takes any depth', `${'>'.repeat(500)} a \n${'>'.repeat(500)} b`, `${'>'.repeat(500)} a b`],
  ])('%s', async (_, body, shown) => {
    expect(await textOf('Content-Type: text/plain; format=flowed', body)).toBe(shown);
  });
  it.each([
    ['format=flowed; delsp=yes', '> lo \n> ng\n', '> long'],
    ['format=FLOWED; DelSp=YES', 'lo \nng\n-- \nx', 'long\n-- \nx'],
    ['format=flowed; delsp=no', 'lo \nng', 'lo ng'],
    ['format="flowed"', 'a \nb', 'a b'],
    ['format=fixed', '> a \n> b', '> a \n> b'],
    ['delsp=yes', 'a \nb', 'a \nb'],
    ['charset=utf-8 (x); format=flowed', 'a \nb', 'a b'],
  ])('with %s', async (parameters, body, shown) => {
    expect(await textOf(`Content-Type: text/plain; ${parameters}`, body)).toBe(shown);
  });
});

describe('encoded words', () => {
  it.each([
    ['=?UTF-8?B?44GT44KT44Gr4w==?=\n =?UTF-8?B?gaHjga8=?=', 'こんにちは'],
    ['=?UTF-8?B?44GT44KT44Gr4?=\n =?UTF-8?B?4Gh44Gv?=', 'こんにちは'],
    ['=?utf-8?Q?Gr=C3?= =?utf-8?Q?=BC=C3=9Fe?=', 'Grüße'],
    ['=?utf-8?Q?Gr=C3?=\n\t=?UTF-8?B?vMOfZQ==?=', 'Grüße'],
    ['=?utf-8?Q?a?= =?iso-8859-1?Q?=FC?=', 'aü'],
    ['=?utf-8?Q?a?= b =?utf-8?Q?c?=', 'a b c'],
    ['=?iso-8859-1?Q?J\u00fcrgen?=', 'Jürgen'],
    [`=?utf-8?Q?J${utf8('ü')}rgen?=`, 'Jürgen'],
    ['=?utf-8?Q?J\u00fcrgen?=', 'Jürgen'],
    ['=?iso-8859-1*de?Q?=FC_x?=', 'ü x'],
    ['=?utf-8?q?two words?=', 'two words'],
    ['=?utf-8?Q??=', ''],
    ['=?unknown?Q?=C3=BC?=', 'ü'],
    ['=?us-ascii?Q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
    ['=?iso-2022-jp?B?GyRCJDMkcxsoQg==?= =?iso-2022-jp?B?GyRCJEskQRsoQg==?=', 'こんにち'],
    ['=?gb18030?B?1tDOxA==?=', '中文'],
    ['=?cp850?Q?Gr=81=E1e?=', 'Grüße'],
    ['=?utf-8?X?abc?=', '=?utf-8?X?abc?='],
    ['=?utf-8?Q?open', '=?utf-8?Q?open'],
    ['=?utf-8?B?!!!!?=', ''],
    ['=?utf-8?Q?=ZZ=4?=', '=ZZ=4'],
    ['x=?utf-8?Q?=C3=BC?=y', 'xüy'],
    ['J\u00fcrgen', 'Jürgen'],
    [utf8('Grüße 漢字'), 'Grüße 漢字'],
    [`\u00fc ${utf8('ü')}`, 'ü Ã¼'],
  ])('in a subject: %j', async (subject, shown) => {
    expect((await parse(`Subject: ${subject}\n\nx`)).subject).toBe(shown);
  });

  it.each([
    ['filename="gr\u00f6\u00dfe.pdf"', 'größe.pdf'],
    [`filename="${utf8('größe.pdf')}"`, 'größe.pdf'],
    ['filename="=?utf-8?Q?gr=C3=B6=C3?= =?utf-8?Q?=9Fe.pdf?="', 'größe.pdf'],
    ["filename*0*=utf-8''gr%C3; filename*1*=%B6%C3%9Fe.pdf", 'größe.pdf'],
    ["filename*=iso-8859-1'de'gr%F6%DFe.pdf", 'größe.pdf'],
    ['filename*0="long "; filename*1="name.pdf"', 'long name.pdf'],
    ['filename=Invoice(1).pdf', 'Invoice(1).pdf'],
    ['filename="a.pdf" (comment)', 'a.pdf'],
    ["filename*=nonsense''%E4.pdf", 'ä.pdf'],
    ['filename="not closed.pdf', 'not closed.pdf'],
    ["filename*=utf-8''%ZZ.pdf", '%ZZ.pdf'],
    ['filename="C:\\\\x\\\\a.pdf"', 'a.pdf'],
  ])('in a file name: %j', async (parameter, shown) => {
    const parsed = await parse(
      mixed('\nx', `Content-Type: application/pdf\nContent-Disposition: attachment; ${parameter}\n\nx`),
    );
    expect(parsed.attachments.map(({ fileName }) => fileName)).toEqual([shown]);
  });
});

describe('a charset', () => {
  it.each([
    ['us-ascii', utf8('Grüße'), 'Grüße'],
    ['ANSI_X3.4-1968', utf8('Grüße'), 'Grüße'],
    ['unknown-8bit', utf8('Grüße'), 'Grüße'],
    ['x-unknown', utf8('Grüße'), 'Grüße'],
    ['iso-8859-1', utf8('Grüße'), 'Grüße'],
    ['windows-1252', utf8('漢字'), '漢字'],
    ['"utf-8"', utf8('Grüße'), 'Grüße'],
    ['utf-8;', utf8('Grüße'), 'Grüße'],
    ['UTF-8 (yes)', utf8('Grüße'), 'Grüße'],
    ['utf8', utf8('Grüße'), 'Grüße'],
    ['us-ascii', 'Gr\u00fc\u00dfe', 'Grüße'],
    ['iso-8859-1', 'Gr\u00fc\u00dfe', 'Grüße'],
    ['iso-8859-15', '5 \u00a4', '5 €'],
    ['utf-8', 'Gr\u00fc\u00dfe', 'Grüße'],
    ['utf-8', utf8('Grüße, größer').slice(0, -3).replace('\u009f', ''), 'Grü\ufffde, grö\ufffd'],
    ['cp850', 'Gr\u0081\u00e1e', 'Grüße'],
    ['IBM850', 'Gr\u0081\u00e1e', 'Grüße'],
    ['ibm437', '\u0080\u009b', 'Ç¢'],
    ['cp852', '\u00a5\u00ab', 'ąź'],
    ['x-mac-ce', '\u008e', 'é'],
    ['macintosh', '\u008a', 'ä'],
    ['utf-7', 'Gr+APwA3w-e +- 1+1', 'Grüße + 1+1'],
    ['unicode-1-1-utf-7', '+ZeVnLIqe-', '日本語'],
    ['hz-gb-2312', 'x ~{<:Ky2;~} ~~', 'x 己所不 ~'],
    ['iso-2022-kr', '\u001b$)C\u000e>H3g\u000f x', '안녕 x'],
    ['iso-2022-cn', '\u001b$)A\u000e=;;;\u000f x', '交换 x'],
    ['iso-2022-jp', '\u001b$B$3$s\u001b(B x', 'こん x'],
    ['cp50221', '\u001b(I1\u001b(B', 'ｱ'],
    ['iso-2022-jp-2', '\u001b.A\u001bN|', 'ü'],
    ['us-ascii', '\u001b$B$3$s\u001b(B x', 'こん x'],
    ['gb18030', '\u0095\u0032\u0082\u0036', '𠀀'],
    ['utf-16', '\u0000G\u0000r\u0000\u00fc', 'Grü'],
    ['utf-16', '\u00ff\u00feG\u0000r\u0000', 'Gr'],
    ['utf-32be', '\u0000\u0000\u0000G\u0000\u0001\u00f6\u0000', 'G😀'],
    ['cp932', '\u0083e\u0083X', 'テス'],
    ['iso-2022-jp', '\u001b$B$3', 'こ'],
    ['iso-2022-jp', '\u001b$B$', '\ufffd'],
    ['no such', utf8('ü'), 'ü'],
    ['', 'Gr\u00fc', 'Grü'],
  ])('%s decodes %j', async (charset, body, shown) => {
    expect(await textOf(`Content-Type: text/plain; charset=${charset}`, body)).toBe(shown);
  });
  it('of HTML may be declared inside', async () => {
    const { text } = await parse('Content-Type: text/html\n\n<meta charset="koi8-r"><p>\u00f0\u00d2\u00c9</p>');
    expect(text).toBe('При');
  });
});

describe('an address', () => {
  it.each([
    ['<@machine.tld:mary@example.net>', [['', 'mary@example.net']]],
    ['Mary <@a.test,@b.test:mary@example.net>', [['Mary', 'mary@example.net']]],
    ['jdoe@test   . example', [['', 'jdoe@test.example']]],
    ['<jdoe @ test . example>', [['', 'jdoe@test.example']]],
    [
      'joe . doe @x.test, b@y.test',
      [
        ['', 'joe.doe@x.test'],
        ['', 'b@y.test'],
      ],
    ],
    ['J. R. Doe <j@x.test>', [['J. R. Doe', 'j@x.test']]],
    ['"Doe, J . R" <j@x.test>', [['Doe, J . R', 'j@x.test']]],
    ['=?utf-8?Q?Doe=2C_J?= <j@x.test>', [['Doe, J', 'j@x.test']]],
    ['=?utf-8?B?44GT44KT44Gr4w==?= =?utf-8?B?gaHjga8=?= <j@x.test>', [['こんにちは', 'j@x.test']]],
    ['"=?iso-8859-1?Q?J=FCrgen?=" <j@x.test>', [['Jürgen', 'j@x.test']]],
    ['J\u00fcrgen <j@x.test>', [['Jürgen', 'j@x.test']]],
    ['j@x.test (J\u00fcrgen)', [['Jürgen', 'j@x.test']]],
    [
      'Team: a@x.test, B <b@x.test>;, c@x.test',
      [
        ['', 'a@x.test'],
        ['B', 'b@x.test'],
        ['', 'c@x.test'],
      ],
    ],
    ['undisclosed-recipients:;', []],
    ['<>', []],
    [', ,', []],
    ['<a@x.test', [['', 'a@x.test']]],
  ])('%j', async (list, people) => {
    const { to } = await parse(`To: ${list}\n\nx`);
    expect(to.map(({ name, email }) => [name, email])).toEqual(people);
  });
});

describe('a header block', () => {
  it.each([
    ['ended by a line with a blank', 'Subject: s\n \nbody\n\nmore\n', 's', 'body\n\nmore\n'],
    ['ended by a line with tabs', 'Subject: s\r\n\t\t\r\nbody\r\n', 's', 'body\n'],
    ['with a fold of blanks before a field', 'Subject: s\n \nX-A: b\n\nbody\n', 's', 'body\n'],
    ['with a fold of blanks before a fold', 'Subject: s\n \n t\n\nbody\n', 's  t', 'body\n'],
    ['ended by a blank line', 'Subject: s\n\n \nbody\n', 's', ' \nbody\n'],
    ['of a part, ended by a line with a blank', mixed('X: y\n \nbody'), '', 'body\n'],
    ['that never ends', 'Subject: s\n', 's', ''],
    ['that ends with blanks', 'Subject: s\n ', 's', ''],
    ['that is only a line of blanks', ' \nbody\n', '', 'body\n'],
    ['before a second one', 'Subject: s\n \n\nbody\n', 's', 'body\n'],
  ])('%s', async (_, message, subject, text) => {
    expect(await parse(message)).toMatchObject({ subject, text });
  });
});

describe('an attachment', () => {
  it.each([
    ['CRLF', 'a,b\r\nc,d\r\n'],
    ['LF', 'a,b\nc,d\n'],
    ['mixed line ends', 'a\r\nb\nc\rd'],
    ['no line end', 'x'],
    ['nothing', ''],
    ['8-bit bytes', '\u0000\u00ff\u00fe\r\n\u0080'],
    ['blank lines', '\r\n\r\n\r\n'],
    ['dashes', '--\r\n--x\r\n-- b\r\n'],
    ['blanks at line ends', 'x  \r\n\ty \r\n'],
    ['a signature', '-----BEGIN PGP SIGNATURE-----\r\n\r\niQ==\r\n-----END PGP SIGNATURE-----\r\n'],
    ['lone carriage returns', '\r\r'],
  ])('without an encoding keeps its bytes: %s', async (_, content) => {
    for (const head of [
      'Content-Type: application/octet-stream; name=a',
      'Content-Type: text/calendar; name=a; method=REQUEST; charset=utf-8',
      'Content-Type: text/plain; name=a\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: 7BIT',
      'Content-Type: text/csv; name=a\r\nContent-Transfer-Encoding: binary',
      'Content-Type: text/x-patch; name=a\r\nContent-Transfer-Encoding: nonsense',
    ]) {
      const message = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b\r\n${head}\r\n\r\n${content}\r\n--b--\r\n`;
      expect(bytesOf((await parse(message)).attachments[0])).toBe(content);
    }
  });
  it('that is a message keeps its bytes, and parts in it belong to it', async () => {
    const inner = `From: a@x.test\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\ninner\r\n--c\r\nContent-Type: a/b; name=f\r\n\r\nfile\r\n--c--\r\n`;
    const { text, attachments } = await parse(
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nouter\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n${inner}\r\n--b\r\nContent-Type: a/b; name=g\r\n\r\nlast\r\n--b--`,
    );
    expect(text).toBe('outer\n');
    expect(attachments.map((file) => [file.fileName, bytesOf(file)])).toEqual([
      ['attachment.eml', inner],
      ['g', 'last'],
    ]);
  });
  it('of a digest is a message by default', async () => {
    const { attachments } = await parse(
      'Content-Type: multipart/digest; boundary=b\n\n--b\n\nSubject: one\n\nx\n--b\nContent-Type: text/plain\n\ny\n--b--',
    );
    expect(attachments.map((file) => [file.contentType, bytesOf(file)])).toEqual([
      ['message/rfc822', 'Subject: one\n\nx'],
    ]);
  });
});

describe('a uuencoded file', () => {
  const cat = 'begin 644 cat.txt\n#0V%T\n`\nend\n';
  it.each([
    ['in the text', `Hi\n\n${cat}bye\n`, 'Hi\n\nbye', [['cat.txt', 'Cat']]],
    [
      'twice',
      `${cat}and\n${cat}`,
      'and',
      [
        ['cat.txt', 'Cat'],
        ['cat (2).txt', 'Cat'],
      ],
    ],
    ['with CRLF', `Hi\r\n${cat.replaceAll('\n', '\r\n')}`, 'Hi', [['cat.txt', 'Cat']]],
    ['ended by a blank', 'begin 644 a\n#0V%T\n \nend\n', '', [['a', 'Cat']]],
    ['with a checksum', 'begin 644 a\n#0V%TX\n`\nend\n', '', [['a', 'Cat']]],
    ['whose blanks were lost', 'begin 644 a b.bin\n$    !\n#\n`\nend\n', '', [['a b.bin', '\0\0\0\u0004\0\0\0']]],
    ['that was cut', 'Hi\nbegin 644 cat.txt\n#0V%T\n', 'Hi\nbegin 644 cat.txt\n#0V%T', []],
    ['without data', 'begin 644 a\n`\nend\n', 'begin 644 a\n`\nend', []],
    ['with a bad line', 'begin 644 a\n#0V%T\nhello\n`\nend\n', 'begin 644 a\n#0V%T\nhello\n`\nend', []],
    ['that is a sentence', 'begin 644 things\nand go on\nend\n', 'begin 644 things\nand go on\nend', []],
    ['without a name', 'begin 644\n#0V%T\n`\nend\n', 'begin 644\n#0V%T\n`\nend', []],
    ['with a path', cat.replace('cat.txt', '/etc/passwd'), '', [['passwd', 'Cat']]],
  ])('%s', async (_, body, text, files) => {
    const parsed = await parse(`Subject: x\n\n${body}`);
    expect(parsed.text.replace(/\n$/, '')).toBe(text);
    expect(parsed.attachments.map((file) => [file.fileName, bytesOf(file)])).toEqual(files);
  });
  it('as the encoding of a part', async () => {
    const part = `Content-Type: a/b; name=cat.txt\nContent-Transfer-Encoding: x-uuencode\n\n${cat}`;
    expect(bytesOf((await parse(mixed('\nHi', part))).attachments[0])).toBe('Cat');
  });
});
