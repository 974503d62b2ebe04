import { describe, expect, it } from 'vitest';
import { readUnsubscribe } from '../../../workers/mail/domain/unsubscribe.ts';

const POST = { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' };
const read = (value: string, more: readonly { name: string; value: string }[] = [], isCovered = true) =>
  readUnsubscribe([{ name: 'List-Unsubscribe', value }, ...more], isCovered, (url) => url.startsWith('https:'));
const mail = (email: string, subject = 'unsubscribe', body = 'unsubscribe') => ({
  method: 'mail',
  email,
  subject,
  body,
});

describe('the way to leave a list', () => {
  it('is one click only if it is signed, asked for once, and has an address', () => {
    const url = 'https://far.test/u?a=b';
    expect(read(`<${url}>`, [POST])).toEqual({ method: 'one_click', url });
    expect(read(`<mailto:l@far.test>,\t<${url}> (comment)`, [{ ...POST, name: 'LIST-UNSUBSCRIBE-POST' }])).toEqual({
      method: 'one_click',
      url,
    });
    for (const way of [
      read(`<${url}>`, [POST], false),
      read(`<${url}>`),
      read(`<${url}>`, [POST, POST]),
      read(`<${url}>`, [POST, { name: 'List-Unsubscribe', value: '<https://other.test>' }]),
      read(`<${url}>`, [{ ...POST, value: 'yes' }]),
    ])
      expect(way).toEqual({ method: 'web', url });
    expect(read('<http://far.test/u>', [POST])).toBeNull();
  });

  it('is a mail to one recipient with a subject and a text, whatever else the address asks for', () => {
    expect(read('<mailto:leave@far.test>')).toEqual(mail('leave@far.test'));
    expect(read('<MAILTO:leave+1@far.test?Subject=a%20b+c&body=x%0D%0Ay>')).toEqual(
      mail('leave+1@far.test', 'a b+c', 'x\r\ny'),
    );
    expect(read('<mailto:l@far.test?subject=a%0D%0ABcc:%20x@y.test&cc=e@f.test>')).toEqual(
      mail('l@far.test', 'a Bcc: x@y.test'),
    );
    expect(read('<https://far.test/u>, <mailto:l@far.test>')).toEqual(mail('l@far.test'));
    expect(read('<mailto:l%40far.test>')).toEqual(mail('l@far.test'));
  });

  it('is one of the first ten addresses, of at most 2,000 characters', () => {
    const way = '<mailto:l@far.test>';
    const others = (count: number) => '<ftp://far.test/u>, '.repeat(count);
    expect(read(`${way}, ${others(10)}`)).toEqual(mail('l@far.test'));
    expect([read(`${others(9)}${way}`), read(`${others(10)}${way}`)]).toEqual([mail('l@far.test'), null]);
    const long = (length: number) => read(`<${'mailto:l@far.test?x='.padEnd(length, 'x')}>`);
    expect([long(2_000), long(2_001)]).toEqual([mail('l@far.test'), null]);
  });

  it('is none without a usable address', () => {
    const hostile = [
      '',
      'far.test',
      '<>',
      '<mailto:>',
      '<mailto:a@x.test,b@x.test>',
      '<mailto:%ff@x.test>',
      '<javascript:alert(1)>',
    ];
    for (const value of [...hostile, '<ftp://far.test/u>', `<mailto:l@far.test?body=${'x'.repeat(3_000)}>`])
      expect(read(value, [POST]), value.slice(0, 60)).toBeNull();
    expect(readUnsubscribe([], true, () => true)).toBeNull();
    expect(read('<'.repeat(100_000), [POST])).toBeNull();
  });
});
