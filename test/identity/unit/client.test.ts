import { expect, it } from 'vitest';
import { readClient } from '../../../workers/identity/callers/client.ts';

it.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::9', '2001:db8:1:3::/64'],
  ['not an address', 'unknown'],
  [undefined, 'unknown'],
])('counts a client at %s as %s', (address, client) => {
  expect(readClient(new Headers(address === undefined ? {} : { 'cf-connecting-ip': address }))).toBe(client);
});
