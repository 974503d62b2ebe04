import { describe, expect, it } from 'vitest';
import { kindOfSender, listSenderKeys, toSenderKey } from '../../../durable-objects/mail/domain/sender-key.ts';
import { toBase64Size } from '../../../workers/mail/domain/base64-size.ts';
import { listReceivers, parseWildcard, toAddress } from '../../../workers/mail/domain/email-address.ts';
import { parseEmailId, toEmailId } from '../../../workers/mail/domain/email-id.ts';
import { findDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { parseMailPath } from '../../../workers/mail/domain/mail-path.ts';
import { fromHeaderFields, readImportance, toHeaderFields } from '../../../workers/mail/domain/written-fields.ts';
import { splitPhrases } from '../../../workers/mail/jmap/objects/email-query.ts';

describe('a wildcard address', () => {
  it.each([
    [' Sales-*@Example.TEST ', { email: 'sales-*@example.test', local: 'sales-*', domain: 'example.test' }],
    ['s*@example.test', { email: 's*@example.test', local: 's*', domain: 'example.test' }],
    ['*@example.test', null],
    ['sales@example.test', null],
    ['sales-*-x@example.test', null],
    ['sales*', null],
  ])('%j is %j', (text, expected) => {
    expect(parseWildcard(text)).toEqual(expected);
  });
  it('has at most 40 characters before its star', () => {
    expect(parseWildcard(`${'s'.repeat(40)}*@example.test`)?.local).toBe(`${'s'.repeat(40)}*`);
    expect(parseWildcard(`${'s'.repeat(41)}*@example.test`)).toBeNull();
  });
});

describe('mail to an address', () => {
  const receiversOf = (address: string, main: string) => {
    const path = parseMailPath(address);
    return path && listReceivers(path, main);
  };
  it('reaches the address, then the longest wildcard', () => {
    expect(receiversOf('ABc@example.test', 'example.test')).toEqual([
      ...['abc@example.test', 'abc*@example.test', 'ab*@example.test', 'a*@example.test'],
    ]);
  });
  it('reaches the address without its tag before any wildcard', () => {
    expect(receiversOf('a+b@example.test', 'example.test')).toEqual([
      ...['a+b@example.test', 'a@example.test', 'a+b*@example.test', 'a+*@example.test', 'a*@example.test'],
    ]);
  });
  it('to an alias of a domain reaches the alias before the domain', () => {
    expect(receiversOf('a@alias.test', 'example.test')).toEqual([
      ...['a@alias.test', 'a*@alias.test', 'a@example.test', 'a*@example.test'],
    ]);
  });
  it('is compared with wildcards of up to 40 characters', () => {
    const [, longest, ...others] = receiversOf(`${'s'.repeat(41)}@example.test`, 'example.test') ?? [];
    expect(longest).toBe(`${'s'.repeat(40)}*@example.test`);
    expect(others).toHaveLength(39);
  });
  it('has a name only if one was given', () => {
    expect(toAddress({ email: 'a@far.test' })).toEqual({ name: '', email: 'a@far.test' });
    expect(toAddress({ email: 'a@far.test', name: 'Ann' })).toEqual({ name: 'Ann', email: 'a@far.test' });
  });
});

describe('a sender to trust or block', () => {
  it.each([
    [' Ann+x@FAR.test ', 'ann+x@far.test', 'address'],
    ['@Bücher.test', '@xn--bcher-kva.test', 'domain'],
    ['<Dev.Lists.FAR.test>', '<dev.lists.far.test>', 'list'],
    ['<a_b.far>', '<a_b.far>', 'list'],
    ['@far', null, null],
    ['far.test', null, null],
    ['<dev>', null, null],
    ['<dev..far>', null, null],
    ['<dev.far', null, null],
    ['<dev.fa-r', null, null],
    ['<.dev.far>', null, null],
    ['<dev.far.>', null, null],
    ['<de v.far>', null, null],
    ['', null, null],
  ])('%j has the key %j', (text, key, kind) => {
    expect(toSenderKey(text)).toBe(key);
    expect(key && kindOfSender(key)).toBe(kind);
  });
  it('has at most 255 characters without the blanks around it', () => {
    const list = (length: number) => `<${'d'.repeat(length - 7)}.test>`;
    expect(toSenderKey(`  ${list(255)}  `)).toBe(list(255));
    expect(toSenderKey(list(256))).toBeNull();
  });
  it('is found by its address, then its list, then its domain', () => {
    expect(listSenderKeys({ address: '"a@b"@far.test', list: 'dev.far.test' })).toEqual([
      ...['"a@b"@far.test', '<dev.far.test>', '@far.test'],
    ]);
    expect(listSenderKeys({ address: 'a@far.test', list: null })).toEqual(['a@far.test', '@far.test']);
    expect(listSenderKeys({ address: null, list: 'dev.far.test' })).toEqual(['<dev.far.test>']);
    expect(listSenderKeys({ address: null, list: null })).toEqual([]);
  });
});

describe('the id of an email', () => {
  const message = '0198c0de-0000-7000-8000-00000000000a';
  it('is that of its message, and has the revision of a draft from the second on', () => {
    for (const [revision, id] of [
      [1, message],
      [2, `${message}-2`],
      [40, `${message}-40`],
    ] as const) {
      expect(toEmailId({ messageId: message, revision })).toBe(id);
      expect(parseEmailId(id)).toEqual({ messageId: message, revision });
    }
  });
  it.each(['', 'x', `${message}-0`, `${message}-`, `${message}x`])('is not %j', (text) => {
    expect(parseEmailId(text)).toBeNull();
  });
});

describe('the importance of a message', () => {
  const field = (name: string, value: string) => ({ name, value });
  it.each([
    [[], 'normal'],
    [[field('IMPORTANCE', ' High ')], 'high'],
    [[field('Importance', 'low'), field('X-Priority', '1')], 'low'],
    [[field('Importance', 'urgent'), field('X-Priority', '5')], 'low'],
    [[field('X-Priority', '1 (Highest)')], 'high'],
    [[field('X-Priority', '2')], 'high'],
    [[field('X-Priority', '3')], 'normal'],
    [[field('X-Priority', '4')], 'low'],
    [[field('X-Priority', ' ')], 'normal'],
    [[field('Precedence', 'high')], 'normal'],
  ])('of %j is %s', (headers, importance) => {
    expect(readImportance(headers)).toBe(importance);
  });
  it('and other fields of a draft survive being written', () => {
    for (const importance of ['high', 'normal', 'low'] as const) {
      const written = { headers: [field('X-Mailer', 'a')], importance };
      expect(fromHeaderFields(toHeaderFields(written))).toEqual(written);
    }
    expect(toHeaderFields({})).toEqual([]);
  });
});

describe('a text filter', () => {
  it('has words, and phrases in either quotation mark', () => {
    const split = (text: string) => splitPhrases(text).map((each) => `${each.match} ${each.text}`);
    expect(split(`one "two three" 'four five' six"`)).toEqual([
      'word one',
      'phrase two three',
      'phrase four five',
      'word six"',
    ]);
    expect(split(String.raw`"a \"b\"" c\d ""`)).toEqual(['phrase a "b"', 'word cd', 'phrase ']);
  });
});

it('a picture of a draft has a Content-ID only if the HTML shows it', () => {
  expect(findDraftContentId('<img src="cid:7@attachment">', '7')).toBe('7@attachment');
  expect(findDraftContentId('<img src="cid:17@attachment">', '7')).toBeNull();
  expect(findDraftContentId(null, '7')).toBeNull();
});

it('Base64 has lines of 76 characters, and a line end between them', () => {
  for (const size of [0, 1, 3, 56, 57, 58, 114, 115, 4_000]) {
    const lines =
      Buffer.alloc(size)
        .toString('base64')
        .match(/.{1,76}/g) ?? [];
    expect([size, toBase64Size(size)]).toEqual([size, lines.join('\r\n').length]);
  }
});
