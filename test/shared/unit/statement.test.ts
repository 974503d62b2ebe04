import { DatabaseSync } from 'node:sqlite';
import { expect, expectTypeOf, it } from 'vitest';
import { type RowOf, type SqlValue, statement } from '../../../workers/shared/stores/statement.ts';
import type { version } from '../../../workers/storage/engine/store/schema.ts';

const run = (text: string, values: SqlValue[]) => {
  const database = new DatabaseSync(':memory:');
  database.exec("CREATE TABLE task(name TEXT, state TEXT); INSERT INTO task VALUES ('a', 'x:y'), ('b', 'z')");
  return database.prepare(text).all(...(values as (string | number | null)[]));
};

it('numbers parameters by name, so that their order in the call does not matter', () => {
  const find = statement<{ name: string; state: string }>(
    'SELECT name FROM task WHERE state = :state AND name = :name OR (name = :name AND :state IS NULL)',
  );
  expect(find.text).toBe('SELECT name FROM task WHERE state = ?1 AND name = ?2 OR (name = ?2 AND ?1 IS NULL)');
  expect(run(find.text, find.toValues({ name: 'a', state: 'x:y' }))).toEqual([{ name: 'a' }]);
});

it('leaves colons inside quoted text alone', () => {
  const find = statement<{ name: string }>(
    "SELECT name FROM task WHERE state = 'x:y' AND name <> 'it''s :name' AND name = :name",
  );
  expect(run(find.text, find.toValues({ name: 'a' }))).toEqual([{ name: 'a' }]);
});

it('refuses a missing and an unknown parameter, and accepts null', () => {
  const find = statement<Record<string, SqlValue>>('SELECT :a AS a, :b AS b');
  expect(() => find.toValues({ a: 1 })).toThrow('the parameter :b is missing');
  expect(() => find.toValues({ a: 1, b: 2, c: 3 })).toThrow('the statement has no parameter :c');
  expect(run(find.text, find.toValues({ a: null, b: 2 }))).toEqual([{ a: null, b: 2 }]);
});

it('takes the types of a row from the schema, by the names of the columns', () => {
  type Row = RowOf<typeof version>;
  expectTypeOf<Row['is_null']>().toEqualTypeOf<number>();
  expectTypeOf<Row['part_count']>().toEqualTypeOf<number | null>();
});
