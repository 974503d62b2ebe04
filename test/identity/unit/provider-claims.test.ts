import { expect, it } from 'vitest';
import {
  findRight,
  readGroups,
  toNewAddress,
  toOperatorRole,
} from '../../../workers/identity/domain/provider-claims.ts';

it('reads groups of a text, a list and a path, and ignores every other form', () => {
  expect(readGroups({ groups: ['a', 'b'] }, 'groups')).toEqual(['a', 'b']);
  expect(readGroups({ groups: 'a' }, 'groups')).toEqual(['a']);
  expect(readGroups({ realm_access: { roles: ['a'] } }, 'realm_access.roles')).toEqual(['a']);
  expect(readGroups({ 'https://corp.example/roles': ['a'] }, 'https://corp.example/roles')).toEqual(['a']);
  expect(readGroups({ groups: [1, null, { a: 1 }, '', 'b'] }, 'groups')).toEqual(['b']);
  for (const groups of [undefined, null, 1, true, {}]) expect(readGroups({ groups }, 'groups')).toEqual([]);
  for (const name of ['constructor', '__proto__', 'toString.name', 'groups.length', 'groups.0'])
    expect(readGroups({ groups: ['a'] }, name)).toEqual(name === 'groups.0' ? ['a'] : []);
});

it('gives the highest role of the groups, and none for a part or another case of a name', () => {
  const pairs = [
    ['staff', 'read'],
    ['admins', 'admin'],
    ['helpdesk', 'support'],
  ] as const;
  expect(toOperatorRole(['staff', 'admins', 'helpdesk'], pairs)).toBe('admin');
  expect(toOperatorRole(['helpdesk', 'staff'], pairs)).toBe('support');
  for (const group of ['Admins', 'admins ', 'admin', 'not-admins', ''])
    expect(toOperatorRole([group], pairs)).toBeNull();
  expect(toOperatorRole(['admins'], [])).toBeNull();
  expect(
    findRight(
      ['b', 'a'],
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ),
  ).toBe('1');
  expect(findRight(['c'], [['a', '1']])).toBeNull();
});

it('makes an account only as the operator says', () => {
  const claims = { email: 'a@example.test', isEmailVerified: false, hostedDomain: null };
  expect(toNewAddress(claims, { from: '', hostedDomain: '' })).toBeNull();
  expect(toNewAddress(claims, { from: 'verified', hostedDomain: '' })).toBeNull();
  expect(toNewAddress(claims, { from: 'issuer', hostedDomain: '' })).toBe('a@example.test');
  expect(toNewAddress(claims, { from: 'issuer', hostedDomain: 'example.test' })).toBeNull();
  const google = { ...claims, isEmailVerified: true, hostedDomain: 'Example.test' };
  expect(toNewAddress(google, { from: 'verified', hostedDomain: 'example.test' })).toBe('a@example.test');
  expect(toNewAddress({ ...google, email: null }, { from: 'verified', hostedDomain: '' })).toBeNull();
});
