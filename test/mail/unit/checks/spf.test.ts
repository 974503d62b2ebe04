import { describe, expect, test } from 'vitest';
import { checkSpf, parseClientIp } from '../../../../workers/mail/checks/authentication/spf.ts';
import { expandMacros, toDotted } from '../../../../workers/mail/checks/authentication/spf-macro.ts';
import { parseSpfRecord } from '../../../../workers/mail/checks/authentication/spf-record.ts';
import { type IpAddress, parseIp } from '../../../../workers/shared/pure/ip-address.ts';
import { resolveFrom, type Zone } from '../../../support/mail/signed-mail.ts';

const toIp = (text: string): IpAddress => {
  const ip = parseIp(text);
  if (ip === null) throw new Error(`not an address: ${text}`);
  return ip;
};

const NOW = Date.UTC(2026, 10, 21);
const policy = (text: string, more: Zone = {}): Zone => ({ 'TXT example.org': [text], ...more });
const check = (zone: Zone, clientIp = '192.0.2.3', sender = 'ada@example.org', helo = 'mx.example.org') =>
  checkSpf({ clientIp, helo, sender }, resolveFrom(zone), NOW);
const result = async (zone: Zone, clientIp?: string, sender?: string, helo?: string) =>
  (await check(zone, clientIp, sender, helo)).result;

describe('mechanisms', () => {
  const zone: Zone = {
    'A example.org': ['192.0.2.10'],
    'AAAA example.org': ['2001:db8::10'],
    'MX example.org': ['10 mail.example.org', '20 mail2.example.org'],
    'A mail.example.org': ['192.0.2.20'],
    'A mail2.example.org': ['192.0.2.21'],
    'TXT other.example': ['v=spf1 ip4:198.51.100.0/24 -all'],
    'TXT soft.example': ['v=spf1 ~all'],
    'PTR 3.2.0.192.in-addr.arpa': ['host.example.org', 'fake.example.net'],
    'A host.example.org': ['192.0.2.3'],
    'A fake.example.net': ['203.0.113.1'],
    'A 3.2.0.192.list.example': ['127.0.0.2'],
  };
  test.each([
    ['v=spf1 -all', '192.0.2.3', 'fail'],
    ['v=spf1 ~all', '192.0.2.3', 'softfail'],
    ['v=spf1 ?all', '192.0.2.3', 'neutral'],
    ['v=spf1 all', '192.0.2.3', 'pass'],
    ['v=spf1', '192.0.2.3', 'neutral'],
    ['V=SPF1 IP4:192.0.2.3 -ALL', '192.0.2.3', 'pass'],
    ['v=spf1 ip4:192.0.2.0/24 -all', '192.0.2.255', 'pass'],
    ['v=spf1 ip4:192.0.2.0/25 -all', '192.0.2.255', 'fail'],
    ['v=spf1 ip4:0.0.0.0/0 -all', '8.8.8.8', 'pass'],
    ['v=spf1 ip6:2001:db8::/32 -all', '2001:db8:1::1', 'pass'],
    ['v=spf1 ip6:2001:db8::/32 -all', '2001:db9::1', 'fail'],
    ['v=spf1 ip4:192.0.2.3 -all', '::ffff:192.0.2.3', 'pass'],
    ['v=spf1 a -all', '192.0.2.10', 'pass'],
    ['v=spf1 a/28 -all', '192.0.2.3', 'pass'],
    ['v=spf1 a -all', '2001:db8::10', 'pass'],
    ['v=spf1 a//64 -all', '2001:db8::ffff', 'pass'],
    ['v=spf1 a:mail.example.org -all', '192.0.2.20', 'pass'],
    ['v=spf1 mx -all', '192.0.2.21', 'pass'],
    ['v=spf1 mx -all', '192.0.2.22', 'fail'],
    ['v=spf1 include:other.example -all', '198.51.100.9', 'pass'],
    ['v=spf1 include:other.example ~all', '192.0.2.3', 'softfail'],
    ['v=spf1 redirect=other.example', '192.0.2.3', 'fail'],
    ['v=spf1 redirect=soft.example', '192.0.2.3', 'softfail'],
    ['v=spf1 ptr -all', '192.0.2.3', 'pass'],
    ['v=spf1 ptr:example.net -all', '192.0.2.3', 'fail'],
    ['v=spf1 exists:%{ir}.list.example -all', '192.0.2.3', 'pass'],
    ['v=spf1 exists:%{ir}.list.example -all', '192.0.2.4', 'fail'],
    ['v=spf1 unknown=thing -all', '192.0.2.3', 'fail'],
  ])('%s from %s: %s', async (text, ip, expected) => {
    expect(await result({ ...zone, ...policy(text) }, ip)).toBe(expected);
  });

  test.each([
    'v=spf1 ipv4:192.0.2.1 -all',
    'v=spf1 ip4:192.0.2.999 -all',
    'v=spf1 ip4:192.0.2.1/33 -all',
    'v=spf1 ip4:2001:db8::1 -all',
    'v=spf1 all:x -all',
    'v=spf1 include: -all',
    'v=spf1 include:nothing.example -all',
    'v=spf1 redirect=nothing.example',
    'v=spf1 redirect=soft.example redirect=soft.example',
    'v=spf1 a:%{z} -all',
    'v=spf1 a:100%.example -all',
    'v=spf1 -all -',
  ])('reports a permanent error for %s', async (text) => {
    expect(await result({ ...zone, ...policy(text) })).toBe('permerror');
  });
});

describe('limits', () => {
  test('ten look-ups are followed, eleven are a permanent error', async () => {
    const chain = (length: number): Zone =>
      Object.fromEntries(
        Array.from({ length: length + 1 }, (_, at) => [
          `TXT ${at === 0 ? 'example.org' : `s${at}.example`}`,
          [at === length ? 'v=spf1 ip4:192.0.2.3 -all' : `v=spf1 include:s${at + 1}.example -all`],
        ]),
      );
    expect(await result(chain(10))).toBe('pass');
    expect(await result(chain(11))).toBe('permerror');
  });

  test('a policy that includes itself is a permanent error', async () => {
    expect(await result(policy('v=spf1 include:example.org -all'))).toBe('permerror');
    expect(await result(policy('v=spf1 redirect=example.org'))).toBe('permerror');
  });

  test('a third nonexistent name is a permanent error', async () => {
    expect(await result(policy('v=spf1 a:x1.example a:x2.example -all'))).toBe('fail');
    expect(await result(policy('v=spf1 a:x1.example a:x2.example a:x3.example -all'))).toBe('permerror');
  });

  test('more than ten mail exchangers are a permanent error', async () => {
    const zone = policy('v=spf1 mx -all', {
      'MX example.org': Array.from({ length: 11 }, (_, at) => `10 m${at}.example.org`),
    });
    expect(await result(zone)).toBe('permerror');
  });
});

describe('the checked domain', () => {
  test('is the HELO name for the null sender, and none without a domain', async () => {
    const zone = { 'TXT mx.example.org': ['v=spf1 -all'] };
    expect(await check(zone, '192.0.2.3', '')).toMatchObject({
      result: 'fail',
      identity: 'helo',
      domain: 'mx.example.org',
    });
    expect(await result({}, '192.0.2.3', '', '[192.0.2.3]')).toBe('none');
    expect(await result({}, '192.0.2.3', 'ada@localhost')).toBe('none');
    expect(await result(policy('v=spf1 -all'), '')).toBe('none');
  });

  test('returns none without a policy, an error for two policies, and a temporary error for a dead resolver', async () => {
    expect(await result({})).toBe('none');
    expect(await result({ 'TXT example.org': ['hello', 'v=spf10 -all'] })).toBe('none');
    expect(await result({ 'TXT example.org': ['v=spf1 -all', 'v=spf1 +all'] })).toBe('permerror');
    const dead = async () => ({ ok: false, error: { kind: 'unreachable', reason: 'timeout' } }) as const;
    const verdict = await checkSpf({ clientIp: '192.0.2.3', helo: 'x', sender: 'a@example.org' }, dead, NOW);
    expect(verdict).toMatchObject({ result: 'temperror', reason: expect.stringContaining('timeout') });
  });

  test('explains a failure in the owner’s words, with macros expanded', async () => {
    const zone = policy('v=spf1 -all exp=why.%{d}', { 'TXT why.example.org': ['%{i} may not send for %{o}'] });
    expect((await check(zone)).reason).toBe('example.org explains: 192.0.2.3 may not send for example.org');
  });
});

describe('macros', () => {
  const values = {
    ip: toIp('192.0.2.3'),
    sender: 'strong-bad@email.example.com',
    domain: 'email.example.com',
    helo: 'mx.example.com',
    clientName: async () => 'mx.example.org',
    now: NOW,
  };
  // Macros and their results in the examples of RFC 7208 §7.4.
  test.each([
    ['%{s}', 'strong-bad@email.example.com'],
    ['%{o}', 'email.example.com'],
    ['%{d4}', 'email.example.com'],
    ['%{d2}', 'example.com'],
    ['%{d1}', 'com'],
    ['%{dr}', 'com.example.email'],
    ['%{d2r}', 'example.email'],
    ['%{l}', 'strong-bad'],
    ['%{l-}', 'strong.bad'],
    ['%{lr}', 'strong-bad'],
    ['%{lr-}', 'bad.strong'],
    ['%{l1r-}', 'strong'],
    ['%{ir}.%{v}._spf.%{d2}', '3.2.0.192.in-addr._spf.example.com'],
    ['%{lr-}.lp.%{ir}.%{v}._spf.%{d2}', 'bad.strong.lp.3.2.0.192.in-addr._spf.example.com'],
    ['%%%_%-', '% %20'],
    ['%{S}', 'strong-bad%40email.example.com'],
  ])('%s', async (text, expected) => {
    expect(await expandMacros(text, values)).toBe(expected);
  });

  test('expand an IPv6 address to 32 digits', async () => {
    expect(await expandMacros('%{ir}.%{v}', { ...values, ip: toIp('2001:db8::cb01') })).toBe(
      '1.0.b.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6',
    );
  });
});

describe('client addresses', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['[192.0.2.1]', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['[IPv6:::1]', `${'0.'.repeat(31)}1`],
    ['fe80::1%eth0', `f.e.8.0.${'0.'.repeat(27)}1`],
  ])('reads %s', (text, dotted) => {
    expect(toDotted(parseClientIp(text) ?? toIp('::'))).toBe(dotted);
  });
  test.each([
    'ip4:010.0.2.3',
    'ip4:0xc0.0.2.3',
    'ip4:192.2',
    'ip4:3221225987',
    'ip4:2001:db8::1',
    'ip6:192.0.2.3',
    'ip6:::ffff:0300.0.2.3',
    'ip6:fe80::1%eth0',
  ])('reports an error in a policy with %s (RFC 7208 §12: decimal, no leading zero)', async (mechanism) => {
    expect(await result(policy(`v=spf1 ${mechanism} +all`))).toBe('permerror');
  });
  test('match ip4 if the client is IPv4-mapped, in any notation', async () => {
    for (const client of ['::ffff:192.0.2.3', '::FFFF:c000:203', '0:0:0:0:0:ffff:192.0.2.3']) {
      expect(await result(policy('v=spf1 ip4:192.0.2.0/24 -all'), client)).toBe('pass');
      expect(await result(policy('v=spf1 ip6:::/0 -all'), client)).toBe('fail');
    }
  });
});

test('keep the order and qualifiers of a record', () => {
  expect(parseSpfRecord('v=spf1 +a/24 ?mx//64 ~include:x.example -all exp=why.example')).toMatchObject({
    mechanisms: [
      { name: 'a', qualifier: '+', bits4: 24, bits6: 128 },
      { name: 'mx', qualifier: '?', bits4: 32, bits6: 64 },
      { name: 'include', qualifier: '~', value: 'x.example' },
      { name: 'all', qualifier: '-' },
    ],
    explanation: 'why.example',
  });
});
