import { expect, it } from 'vitest';
import { updateSchema } from '../../../workers/leaderboard/contract.ts';
import { readPlainUpdate } from '../../../workers/leaderboard/plain-update.ts';
import { announceSeed, createRandom } from './random.ts';

/** For each member: values that are valid, at the limit, and invalid. */
const MEMBERS: Record<string, readonly unknown[]> = {
  user_id: ['a', 'A.b_c:d@e-9', 'x'.repeat(64), 'x'.repeat(65), '', 'a b', 'é', 'a\n', 'a\u0000', 7, null],
  points: [0, -0, 1, 1_000_000, 1_000_001, -1, 1.5, 1e300, '1', null, true, 2 ** 53],
  user_name: [
    'Ada',
    ' ',
    ' a ',
    '   ',
    '\u202ea',
    '\u200b',
    'n'.repeat(64),
    'n'.repeat(65),
    '𐍈'.repeat(64),
    'é',
    '\u0000',
    '\u007f',
    '\ud800',
    '',
    3,
    null,
  ],
  event_id: ['match-1', 'e'.repeat(128), 'e'.repeat(129), '𐍈'.repeat(128), 'a\tb', '\ud800', '', 9, null],
  season: ['2026-11', '2026-13', '2026-00', '26-11', '', '2026-11\n', 2026, null],
  rank: [1],
};

it('accepts only what the schema accepts, with the same result', () => {
  const random = createRandom(announceSeed());
  let plain = 0;
  for (let attempt = 0; attempt < 50_000; attempt++) {
    const members = Object.entries(MEMBERS).flatMap(([name, values]) => {
      const isPresent = random() < (name === 'user_id' || name === 'points' ? 0.95 : name in { rank: 1 } ? 0.02 : 0.4);
      const value = values[Math.floor(random() ** 2 * values.length)];
      return isPresent ? [`${JSON.stringify(name)}:${JSON.stringify(value)}`] : [];
    });
    if (random() < 0.01) members.push('"__proto__":1');
    const update: unknown = JSON.parse(`{${members.join(',')}}`);
    const quick = readPlainUpdate(update);
    if (quick === null) continue;
    plain++;
    expect(updateSchema.safeParse(update)).toEqual({ success: true, data: quick });
  }
  expect(plain).toBeGreaterThan(1_000);
  for (const value of [null, [], 'a', 1, {}, { user_id: 'a' }, { points: 1 }])
    expect(readPlainUpdate(value)).toBe(null);
});
