/** Tests which user database has a name or a user, and which sets of bound databases are refused. */
import { describe, expect, it } from 'vitest';
import {
  homeOfAccessKey,
  homeOfSecret,
  mintAccessKeyId,
  mintSecret,
} from '../../../workers/identity/secrets/credentials.ts';
import { MisconfiguredError } from '../../../workers/shared/settings/settings.ts';
import { bindingProblemOf, boundDirectories } from '../../../workers/shared/stores/bindings.ts';
import {
  countSets,
  databaseNumberOf,
  databaseOf,
  mintUserId,
  newestDatabaseOf,
  possibleDatabasesOf,
  userDatabaseOf,
} from '../../../workers/shared/stores/directories.ts';

/** An environment with this number of user databases. Each database is an object with its number. */
function bind(total: number, ...further: number[]): Env {
  const database = (number: number) => ({ prepare: () => {}, number });
  const numbers = [...Array.from({ length: total }, (_, number) => number), ...further];
  const named = numbers.map((number) => [number === 0 ? 'DIRECTORY' : `DIRECTORY_${number}`, database(number)]);
  const blobs = { put: () => {}, head: () => {} };
  return { ...Object.fromEntries(named), BLOBS: blobs, BLOBS_2: blobs, ROOT_TOKEN: 'x'.repeat(32) } as unknown as Env;
}
const numberOf = (database: D1Database) => (database as unknown as { number: number }).number;
const NAMES = Array.from({ length: 500 }, (_, n) => `person-${n}@example.test`);

describe('the user databases', () => {
  it.each([1, 5, 21, 85])('are %i, in the order of their numbers', (total) => {
    const env = bind(total);
    expect(bindingProblemOf(env)).toBeNull();
    expect(boundDirectories(env).map(numberOf)).toEqual(Array.from({ length: total }, (_, n) => n));
    expect(countSets(env)).toBe([1, 5, 21, 85].indexOf(total) + 1);
  });

  it.each([2, 4, 6, 20, 22, 84, 86])('are refused if they are %i, because a group is incomplete', (total) => {
    expect(bindingProblemOf(bind(total))?.name).toBe(`DIRECTORY_${total}`);
    expect(() => boundDirectories(bind(total))).toThrow(MisconfiguredError);
  });

  it('are refused if a number is missing', () => {
    expect(bindingProblemOf(bind(4, 5))?.name).toBe('DIRECTORY_4');
  });
});

it('are available although a setting of the locations is bad', () => {
  const env = { ...bind(5), WRITE_QUORUM: '9' } as unknown as Env;
  expect(bindingProblemOf(env)?.name).toBe('WRITE_QUORUM');
  expect(boundDirectories(env)).toHaveLength(5);
});

describe('a name', () => {
  // These numbers determine where stored rows are, so they must never change.
  it.each([
    ['ann@example.test', [0, 2, 14, 46]],
    ['bob@example.test', [0, 3, 19, 67]],
  ])('%s has one database in each group', (name, numbers) => {
    expect(possibleDatabasesOf(bind(85), name).map(numberOf)).toEqual(numbers);
    expect(possibleDatabasesOf(bind(5), name).map(numberOf)).toEqual(numbers.slice(0, 2));
    expect(numberOf(newestDatabaseOf(bind(21), name))).toBe(numbers[2]);
  });

  it('that is a wildcard has the databases of all wildcards of its domain', () => {
    const [first, ...others] = ['a*@example.test', 'ann-*@example.test', 'b*@example.test'].map((name) =>
      possibleDatabasesOf(bind(85), name).map(numberOf),
    );
    for (const numbers of others) expect(numbers).toEqual(first);
  });

  it('is in each database of a group with about the same chance', () => {
    const counts = new Map<number, number>();
    for (const name of NAMES) {
      const number = numberOf(newestDatabaseOf(bind(5), name));
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual([1, 2, 3, 4]);
    expect(Math.min(...counts.values())).toBeGreaterThan(80);
  });
});

describe('a user', () => {
  it('is in DIRECTORY while there is no other database', () => {
    for (const name of NAMES.slice(0, 50)) expect(databaseNumberOf(mintUserId(bind(1), name))).toBe(0);
    expect(databaseNumberOf('operator')).toBe(0);
  });

  it.each([5, 21, 85])('who registers with %i databases is in the one that the address selects', (total) => {
    const env = bind(total);
    for (const name of NAMES.slice(0, 50)) {
      const userId = mintUserId(env, name);
      expect(userId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(userDatabaseOf(env, userId)).toBe(newestDatabaseOf(env, name));
      expect(numberOf(userDatabaseOf(bind(85), userId))).toBe(databaseNumberOf(userId));
    }
  });

  it('whose database is not bound causes an error, and is not reported as unknown', () => {
    const late = mintUserId(bind(85), 'late@example.test');
    expect(() => userDatabaseOf(bind(21), late)).toThrow(MisconfiguredError);
    expect(() => databaseOf(bind(1), 1)).toThrow('DIRECTORY_1');
  });
});

it.each(['0055', 'ffff', '-001', '00zz'])('an id of version 8 that ends with %s is not one of ours', (end) => {
  expect(databaseNumberOf(`00000000-0000-8000-8000-00000000${end}`)).toBe(0);
});

describe('a credential', () => {
  it.each([0, 1, 20, 84])('names the database %i', (home) => {
    expect(homeOfSecret(mintSecret('tok', home))).toBe(home);
    expect(homeOfAccessKey(mintAccessKeyId(home))).toBe(home);
    expect(mintAccessKeyId(home)).toMatch(/^[A-Z0-9]{20}$/);
  });

  it.each(['', 'tok_', `tok_1_${'x'.repeat(42)}`, `tok_${'1'.repeat(43)}`, 'AKIAIOSFODNN7EXAMPLE', 'TESD1'])(
    '%j names DIRECTORY',
    (text) => {
      expect([homeOfSecret(text), homeOfAccessKey(text)]).toEqual([0, 0]);
    },
  );
});
