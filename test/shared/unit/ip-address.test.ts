import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInNetwork, parseIp, parseNetwork } from '../../../workers/shared/pure/ip-address.ts';

const seed = Number(process.env.SEED ?? Date.now());

function matches(ipText: string, networkText: string): boolean {
  const [ip, network] = [parseIp(ipText), parseNetwork(networkText)];
  if (ip === null || network === null) throw new Error(`not an address: ${ipText}, ${networkText}`);
  return isInNetwork(ip, network);
}

describe('an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['0000:0000:0000:0000:0000:ffff:c000:0201', '192.0.2.1'],
    ['2001:DB8:0::1', '2001:db8::1'],
    // These addresses are IPv4-compatible (RFC 4291 §2.5.5.1), not IPv4-mapped.
    ['::192.0.2.1', '::c000:201'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
  ])('parses %s to %s', (text, address) => {
    expect(parseIp(text)?.toString()).toBe(address);
  });
  it.each([
    '',
    'x',
    '1.2.3',
    '1.2.3.256',
    '1.2.3.4.5',
    '01.2.3.4',
    '0x1.2.3.4',
    '3221225985',
    '0xc0000201',
    ' 192.0.2.1',
    '192.0.2.1 ',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
    '1:2:3:4:5:6:7:8:9',
    '::ffff:0300.0.2.1',
    '::ffff:192.0.2',
    '::ffff:192.0.2.256',
    '192.0.2.1::',
    'fe80::1%eth0',
    '[::1]',
    `${'0:'.repeat(40)}1`,
  ])('is not parsed from "%s"', (text) => {
    expect(parseIp(text)).toBeNull();
  });
  it(`agrees with Node about which texts are addresses (seed ${seed})`, () => {
    const piece = fc.constantFrom(
      '0',
      '1',
      '10',
      '255',
      '256',
      'ffff',
      '01',
      '12345',
      'g',
      ':',
      '::',
      '.',
      '192.0.2.1',
    );
    const text = fc.array(piece, { maxLength: 16 }).map((pieces) => pieces.join(''));
    const grouped = fc
      .array(fc.constantFrom('0', 'ffff', 'a1', '', '192.0.2.1', '010.0.0.1'), { minLength: 2, maxLength: 9 })
      .map((groups) => groups.join(':'));
    const check = (each: string) => (parseIp(each) !== null) === (isIP(each) !== 0);
    fc.assert(fc.property(fc.oneof(text, grouped, fc.ipV4(), fc.ipV6()), check), { seed, numRuns: 5_000 });
  });
});

describe('a network', () => {
  it.each([
    ['192.0.2.77', '192.0.2.0/24', true],
    ['192.0.3.1', '192.0.2.0/24', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['203.0.113.9', '0.0.0.0/0', true],
    ['::ffff:192.0.2.1', '192.0.2.0/24', true],
    ['::ffff:c000:201', '192.0.2.0/24', true],
    ['::ffff:192.0.3.1', '192.0.2.0/24', false],
    ['192.0.2.1', '::ffff:192.0.2.0/120', true],
    ['192.0.3.1', '::ffff:192.0.2.0/120', false],
    ['192.0.2.1', '::ffff:c000:201', true],
    ['192.0.2.1', '::ffff:0:0/96', true],
    ['2001:db8:1::1', '2001:db8::/32', true],
    ['2001:db9::1', '2001:db8::/32', false],
    ['2001:db8::1', '192.0.2.0/24', false],
    ['192.0.2.1', '::/0', false],
    ['::ffff:192.0.2.1', '::/0', false],
    ['2001:db8::1', '0.0.0.0/0', false],
  ])('%s in %s: %s', (ip, network, expected) => {
    expect(matches(ip, network)).toBe(expected);
  });
  it.each([
    '192.0.2.0/33',
    '2001:db8::/129',
    '192.0.2.0/',
    '192.0.2.0/024',
    '192.0.2.0/-1',
    '192.0.2.0/24/1',
    '192.2/8',
    '/8',
  ])('is not parsed from "%s"', (text) => {
    expect(parseNetwork(text)).toBeNull();
  });
});
