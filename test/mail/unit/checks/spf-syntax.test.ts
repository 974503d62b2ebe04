import { describe, expect, test } from 'vitest';
import { checkSpf } from '../../../../workers/mail/checks/authentication/spf.ts';
import { resolveFrom, type Zone } from '../../../support/mail/signed-mail.ts';

const CLIENTS = ['192.0.2.25', '::ffff:192.0.2.25'];
const MORE: Zone = {
  'A sender.test': ['192.0.2.25'],
  'A mail.sender.test': ['192.0.2.25'],
  'A smtp:relay.sender.test': ['192.0.2.25'],
  'MX in:bound.sender.test': ['10 mx1.sender.test'],
  'A mx1.sender.test': ['192.0.2.25'],
  'A a%b c%20d.ok.test': ['127.0.0.2'],
  'A ann+news.users.test': ['127.0.0.2'],
  'A xann.ok.test': ['127.0.0.2'],
  'A 192.0.2.25.list.test': ['127.0.0.2'],
  'TXT ok.test': ['v=spf1 ip4:192.0.2.25 -all'],
};
const check = (record: string, options: { clientIp?: string; sender?: string; zone?: Zone } = {}) =>
  checkSpf(
    { clientIp: options.clientIp ?? '192.0.2.25', helo: 'mx.sender.test', sender: options.sender ?? 'ann@sender.test' },
    resolveFrom({ ...MORE, ...options.zone, 'TXT sender.test': [record] }),
    Date.UTC(2026, 10, 22),
  );

describe('malformed records are permerror', () => {
  test.each([
    'v=spf1 a:grün.sender.test ip4:192.0.2.0/24 -all',
    'v=spf1 ip4:192.0.2.0/24 -all ü',
    'v=spf1 ip4:192.0.2.25 exp=grün.test -all',
    'v=spf1 a:mail.sender.test\tip4:192.0.2.25 -all',
    'v=spf1 ip4:192.0.2.25\n-all',
    'v=spf1 ip4:192.0.2.25 \r\n -all',
    'v=spf1 a:192.0.2.25 ~all',
    'v=spf1 a:mail.sender.42 ~all',
    'v=spf1 mx:sender.2026 ~all',
    'v=spf1 a:mailhost ~all',
    'v=spf1 a:mailhost. ~all',
    'v=spf1 include:mailhost ~all',
    'v=spf1 a:mail.-test ~all',
    'v=spf1 a:mail.test- ~all',
    'v=spf1 mx:sender.-test ~all',
    'v=spf1 a:mail.sender.test\0 ~all',
    'v=spf1 mx:sender.test\0 ~all',
    'v=spf1 a:mail.sender.test:25 ~all',
    'v=spf1 mx:sender.test:25 ~all',
    'v=spf1 a:mail.sender.te_st ~all',
    'v=spf1 a:mail.sender.test.. ~all',
    'v=spf1 exists:%{i}.list.test/x -all',
    'v=spf1 exists:%{i}x -all',
    'v=spf1 a:mail.sender.test/24/64 -all',
    'v=spf1 a:mail.sender.test/ -all',
    'v=spf1 a/032 -all',
    'v=spf1 a//0128 -all',
    'v=spf1 a//129 -all',
    'v=spf1 a/33 -all',
    'v=spf1 ip4:192.0.2.25/032 -all',
    'v=spf1 ip4:192.0.2.25/00 -all',
    'v=spf1 ip4:192.0.2.025 -all',
    'v=spf1 ip4:192.0.2.25//32 -all',
    'v=spf1 ip4:192.0.2 -all',
    'v=spf1 ip4:192.0.2.25 ip4:2001:db8::1 -all',
    'v=spf1 ip4:192.0.2.25 ip6:192.0.2.25 -all',
    'v=spf1 ip4:192.0.2.25 ip6:2001:db8::1/0128 -all',
    'v=spf1 ip4 -all',
    'v=spf1 ?all redirect=-all',
    'v=spf1 ?all redirect=',
    'v=spf1 ?all redirect=mailhost',
    'v=spf1 ip4:198.51.100.1 exp=-all',
    'v=spf1 ip4:192.0.2.25 exp=a.test exp=b.test',
    'v=spf1 exists:%{c}.ok.test -all',
    'v=spf1 exists:%{r}.ok.test -all',
    'v=spf1 exists:%{t}.ok.test -all',
    'v=spf1 ip4:192.0.2.25 redirect=%{r}.ok.test',
    'v=spf1 exists:%{d0}.ok.test -all',
    'v=spf1 exists:%{dr2}.ok.test -all',
    'v=spf1 exists:%{d.ok.test -all',
    'v=spf1 exists:%{}.ok.test -all',
    'v=spf1 exists:%d.ok.test -all',
    'v=spf1 ptr/24 -all',
    'v=spf1 all/24',
    'v=spf1 include:ok.test/24 -all',
    'v=spf1 a=x:y% -all',
    'v=spf1 ip4:192.0.2.25 =a -all',
    'v=spf1 ip4:192.0.2.25 -a=b',
  ])('%j', async (record) => {
    for (const clientIp of CLIENTS) expect((await check(record, { clientIp })).result).toBe('permerror');
  });
});

describe('unusual but valid records', () => {
  test.each([
    'v=spf1 a:smtp:relay.sender.test -all',
    'v=spf1 mx:in:bound.sender.test -all',
    'v=spf1 exists:a%%b%_c%-d.ok.test -all',
    'v=spf1 a:mail.sender.test. -all',
    'v=spf1 a:MAIL.Sender.TEST -all',
    'v=spf1 a:%{d} -all',
    'v=spf1 a:mail.%{d}/32 -all',
    'v=spf1 a/24//64 -all',
    'v=spf1 a/0 -all',
    'v=spf1 exists:%{i}.list.test -all',
    'v=spf1 exists:%{i1000}.list.test -all',
    'v=spf1 exists:x%{l}.ok.test -all',
    'v=spf1 redirect=ok.test',
    'v=spf1 include:ok.test moo.cow-far_out=man:dog/cat -all',
    'v=spf1 unknown=%{c}%{t} ip4:192.0.2.25 -all',
    'v=spf1 ip6:::ffff:192.0.2.25 ip4:192.0.2.25/32 -all',
    'v=spf1   ip4:192.0.2.25   -all  ',
  ])('pass: %s', async (record) => {
    for (const clientIp of CLIENTS) expect((await check(record, { clientIp })).result).toBe('pass');
  });

  test('a label of a macro may have any octet', async () => {
    const record = 'v=spf1 exists:%{l}.users.test -all';
    expect((await check(record, { sender: 'ann+news@sender.test' })).result).toBe('pass');
    expect((await check(record, { sender: 'bob!@sender.test' })).result).toBe('fail');
    expect((await check(record, { sender: `${'x'.repeat(64)}@sender.test` })).result).toBe('fail');
    expect((await check(record, { sender: 'a..b@sender.test' })).result).toBe('fail');
  });

  test('a sender domain in UTF-8 has the policy of its A-labels', async () => {
    const zone = { 'TXT xn--mnchen-3ya.test': ['v=spf1 ip4:192.0.2.25 -all'] };
    expect(await check('v=spf1 -all', { sender: 'ann@münchen.test', zone })).toMatchObject({
      ...{ result: 'pass', domain: 'xn--mnchen-3ya.test' },
    });
  });
});

describe('explanations', () => {
  const explain = async (text: string, options: { clientIp?: string; sender?: string } = {}) =>
    (await check('v=spf1 -all exp=why.sender.test', { ...options, zone: { 'TXT why.sender.test': [text] } })).reason;
  test.each([
    ['%{c}', '2001:db8::1', 'ann@sender.test', '2001:db8::1'],
    ['%{C} %{i}', '192.0.2.7', 'ann@sender.test', '192.0.2.7 192.0.2.7'],
    ['%{S}', '192.0.2.7', 'a!b@sender.test', 'a%21b%40sender.test'],
    ['%{L}', '192.0.2.7', "(a'*)@sender.test", '%28a%27%2A%29'],
    ['%{L}', '192.0.2.7', 'a-b._~c@sender.test', 'a-b._~c'],
    ['no %_ %%', '192.0.2.7', 'ann@sender.test', 'no   %'],
  ])('%s, client %s, sender %s: %s', async (text, clientIp, sender, expected) => {
    expect(await explain(text, { clientIp, sender })).toBe(`sender.test explains: ${expected}`);
  });

  test.each(['100% no', '%{x}', '%{d', 'a\tb', 'grün'])('a malformed one is left out: %j', async (text) => {
    expect(await explain(text)).toBe('sender.test: all');
  });
});
