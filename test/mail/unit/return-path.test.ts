import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseMailPath } from '../../../workers/mail/domain/mail-path.ts';
import { readReturnPath, type SignText, toBase32, toReturnPath } from '../../../workers/mail/domain/return-path.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
const signer =
  (key: string): SignText =>
  (text) =>
    toBase32(createHmac('sha256', key).update(text).digest());
const sign = signer('key');
const path = (text: string) => {
  const found = parseMailPath(text);
  if (!found) throw new Error(`${text} is not an address`);
  return found;
};
const make = (sender: string, owner = 'ann@example.test') => toReturnPath(path(owner), sender, NOW, sign);
const read = (text: string, now = NOW, signers = [sign]) => readReturnPath(path(text), now, signers);

test('Base32 is that of RFC 4648', () => {
  expect(toBase32(Buffer.from('foobar'))).toBe('mzxw6ytboi');
});

test('a return path names its owner and the sender, and is valid for three weeks', () => {
  const made = make('Bob@far.test');
  expect(made).toMatch(/^ann\+SRS0=[a-z2-7]{8}=[a-z2-7]{2}=far\.test=bob@example\.test$/);
  for (const [days, isValid] of [
    [0, true],
    [21, true],
    [22, false],
    [400, false],
  ] as const)
    expect([days, read(made, NOW + days * DAY_MS)]).toEqual([days, isValid ? { owner: 'ann@example.test' } : false]);
  // A return path from the future must be invalid. It exists after a clock was set back.
  expect(read(made, NOW - DAY_MS)).toBe(false);
});

test('case is ignored, because some hosts change it', () => {
  expect(read(make('bob@far.test').toUpperCase())).toEqual({ owner: 'ann@example.test' });
});

test('a return path is a valid address for any sender', () => {
  const senders = [
    '',
    `${'x'.repeat(64)}@far.test`,
    '"a b"@far.test',
    "o'hara@far.test",
    'ann+SRS0=a=b=c=d@other.test',
    'no address',
  ];
  for (const sender of senders) expect([sender, read(make(sender))]).toEqual([sender, { owner: 'ann@example.test' }]);
});

test('a changed return path is invalid, an older key still opens it, and another address is not a return path', () => {
  const made = make('bob@far.test');
  for (const changed of [
    made.replace('bob', 'eve'),
    made.replace('ann+', 'eve+'),
    made.replace('=far', '=fat'),
    made.replace('@example', '@other'),
    'ann+SRS0=@example.test',
  ])
    expect([changed, read(changed)]).toEqual([changed, false]);
  expect(read(made, NOW, [signer('new'), sign])).toEqual({ owner: 'ann@example.test' });
  expect(read('ann+shop@example.test')).toBe(null);
});
