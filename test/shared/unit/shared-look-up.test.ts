import { expect, it } from 'vitest';
import { lookUpTogether } from '../../../workers/shared/concurrency/shared-look-up.ts';

/** A database that answers each query when the test decides. */
class SlowTable {
  value = 'valid';
  readonly queries: { read: string; finish(error?: Error): void }[] = [];

  readonly query = (): Promise<string> => {
    const read = this.value;
    return new Promise((resolve, reject) => {
      this.queries.push({ read, finish: (error) => (error ? reject(error) : resolve(read)) });
    });
  };
}

/** Waits until every caller has polled for a shared answer. */
const waitForPolls = () => new Promise((resolve) => setTimeout(resolve, 20));

it('shares one query between callers that arrive while queries are running', async () => {
  const table = new SlowTable();
  const answers = Array.from({ length: 100 }, () => lookUpTogether('many', table.query));
  expect(table.queries).toHaveLength(2);
  table.queries[0]?.finish();
  await waitForPolls();
  expect(table.queries).toHaveLength(3);
  for (const { finish } of table.queries) finish();
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['valid']));
});

it('never answers a request from a query that started before it', async () => {
  const table = new SlowTable();
  const before = [lookUpTogether('revoked', table.query), lookUpTogether('revoked', table.query)];
  table.value = 'revoked';
  const after = Array.from({ length: 5 }, () => lookUpTogether('revoked', table.query));
  for (const { finish } of table.queries) finish();
  await waitForPolls();
  for (const { finish } of table.queries) finish();
  expect(await Promise.all(before)).toEqual(['valid', 'valid']);
  expect(await Promise.all(after)).toEqual(new Array(5).fill('revoked'));
});

it('repeats the query if the request that ran it failed or died', async () => {
  const table = new SlowTable();
  const cut = [lookUpTogether('cut', table.query), lookUpTogether('cut', table.query)];
  const waiting = Array.from({ length: 3 }, () => lookUpTogether('cut', table.query));
  // The first two queries never finish, so the waiting callers give up on them and a third query starts.
  while (table.queries.length < 3) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const { finish } of table.queries.slice(2)) finish();
  expect(await Promise.all(waiting)).toEqual(new Array(3).fill('valid'));
  expect(cut).toHaveLength(2);

  const failing = new SlowTable();
  const calls = Promise.allSettled(Array.from({ length: 4 }, () => lookUpTogether('failing', failing.query)));
  failing.queries[0]?.finish();
  await waitForPolls();
  failing.queries[2]?.finish(new Error('the database went away'));
  await waitForPolls();
  for (const { finish } of failing.queries) finish();
  const results = await calls;
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
});
