/** Header fields in forms that RFC 5322 and RFC 2045 do not allow, or allow and few programs write. Real senders use them. */
import { describe, expect, it } from 'vitest';
import { parseAddressList } from '../../../workers/mail/mime/addresses.ts';
import { parseParameters } from '../../../workers/mail/mime/parameters.ts';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';

describe('a media type', () => {
  it.each([
    ['multipart/mixed\r\n\tboundary="a;b"', 'multipart/mixed', 'a;b'],
    ['multipart/mixed boundary=a', 'multipart/mixed', 'a'],
    ['multipart/mixed boundary = "a" ; charset=utf-8', 'multipart/mixed', 'a'],
    ['multipart/mixed; charset=utf-8 boundary=a', 'multipart/mixed', undefined],
    ['multipart/mixed (a comment) ; boundary=a', 'multipart/mixed', 'a'],
    ['text/plain x=y; boundary=a', 'text/plain', 'a'],
  ])('%j has its parameters, also without a semicolon before them', (text, type, boundary) => {
    const { value, parameters } = parseParameters(text);
    expect([value, parameters.get('boundary')]).toEqual([type, boundary]);
  });

  it('without a semicolon keeps the attachment', async () => {
    const raw = [
      'From: a@far.test',
      'Content-Type: multipart/mixed',
      '\tboundary="b"',
      '',
      '--b',
      '',
      'hello',
      '--b',
      'Content-Type: image/png',
      '\tname="a.png"',
      'Content-Transfer-Encoding: base64',
      '',
      'aGVsbG8=',
      '--b--',
      '',
    ].join('\r\n');
    const { text, attachments } = await parseMessage(Buffer.from(raw));
    expect([text, attachments.map(({ fileName }) => fileName)]).toEqual(['hello\n', ['a.png']]);
  });
});

describe('an address', () => {
  const person = (name: string, email: string) => ({ name, email });
  it.each([
    ['<ann(home)@x.test>', [person('', 'ann@x.test')]],
    ['Ann <ann@x.test (home)>', [person('Ann', 'ann@x.test')]],
    ['Ann <ann(a \\) b)@(c)x.test>, b@x.test', [person('Ann', 'ann@x.test'), person('', 'b@x.test')]],
    ['"a(b"@x.test', [person('', 'a(b@x.test')]],
    ['ann@x.test (Ann B)', [person('Ann B', 'ann@x.test')]],
    ['undisclosed-recipient:@mailman;', []],
    ['(Empty list)(start)Hidden recipients  :(nobody(that I know))  ;', []],
    ['Pete(A nice \\) chap) <pete(his account)@x.test(his host)>', [person('Pete', 'pete@x.test')]],
    [
      'A Group(Some people)\r\n :Ed <ed@x.test>, John <j@x.test> (my dear friend); (the end of the group)',
      [person('Ed', 'ed@x.test'), person('John', 'j@x.test')],
    ],
    ['ann@x.test (Ann (nested) B)', [person('Ann nested B', 'ann@x.test')]],
    [
      '"Group: (x" <ed@x.test>, "a, (b), c" <f@x.test>',
      [person('Group: (x', 'ed@x.test'), person('a, (b), c', 'f@x.test')],
    ],
    ['ann@x.test (open', [person('open', 'ann@x.test')]],
    ['Group: Ed <ed@x.test>, @mailman;', [person('Ed', 'ed@x.test')]],
  ])('%j has no comment in it, and a group has only members with an address', (text, people) => {
    expect(parseAddressList(text)).toEqual(people);
  });
});
