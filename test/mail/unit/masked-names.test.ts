import { expect, it } from 'vitest';
import { parseOwnAddress } from '../../../workers/mail/domain/email-address.ts';
import { inventMaskedName } from '../../../workers/mail/domain/masked-name.ts';
import { isMaskedName } from '../../../workers/mail/domain/masked-name-form.ts';
import { isOpen, PENDING_MS, toEffectiveState } from '../../../workers/mail/domain/masked-state.ts';

it('invents names of two words and four digits that are valid addresses and not reserved', () => {
  const names = new Set(Array.from({ length: 2_000 }, () => inventMaskedName(null)));
  expect(names.size).toBeGreaterThan(1_990);
  for (const name of names) {
    expect(name).toMatch(/^[a-z]{3,8}\.[a-z]{3,8}\.\d{4}$/);
    expect(isMaskedName(`${name}@example.test`)).toBe(true);
    expect(parseOwnAddress(`${name}@example.test`)).toMatchObject({ local: name });
  }
});

it('begins with the prefix that a client asks for', () => {
  expect(inventMaskedName('shop_1')).toMatch(/^shop_1\.[a-z]+\.\d{4}$/);
  expect(isMaskedName(`${inventMaskedName('shop_1')}@example.test`)).toBe(true);
  expect(inventMaskedName('a'.repeat(64)).length).toBeLessThanOrEqual(64);
  expect(isMaskedName('ann.smith@example.test')).toBe(false);
});

it('ends an address that no mail reached within a day, unless it was opened', () => {
  const row = { state: 'pending', createdAt: 1_000 } as const;
  expect(toEffectiveState(row, 1_000 + PENDING_MS)).toBe('pending');
  expect(toEffectiveState(row, 1_001 + PENDING_MS)).toBe('deleted');
  expect(toEffectiveState({ ...row, state: 'enabled' }, Number.MAX_SAFE_INTEGER)).toBe('enabled');
  expect(isOpen({ ...row, state: 'disabled' }, 2_000)).toBe(true);
  expect(isOpen({ ...row, state: 'deleted' }, 2_000)).toBe(false);
});
