import { expect, it } from 'vitest';
import { lookUpTogether } from '../../../workers/identity/shared-look-up.ts';

/** A database whose answers come one by one, when the test says so. */
class SlowTable {
  value = 'valid';
  readonly asked: { read: string; finish(error?: Error): void }[] = [];

  readonly ask = (): Promise<string> => {
    const read = this.value;
    return new Promise((resolve, reject) => {
      this.asked.push({ read, finish: (error) => (error ? reject(error) : resolve(read)) });
    });
  };
}

/** Long enough for all who wait to have asked whether they were told. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

it('asks once for all who come while look-ups are under way', async () => {
  const table = new SlowTable();
  const answers = Array.from({ length: 100 }, () => lookUpTogether('many', table.ask));
  expect(table.asked).toHaveLength(2);
  table.asked[0]?.finish();
  await turn();
  expect(table.asked).toHaveLength(3);
  for (const { finish } of table.asked) finish();
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['valid']));
});

it('never gives a request an answer that was asked for before it came', async () => {
  const table = new SlowTable();
  const before = [lookUpTogether('revoked', table.ask), lookUpTogether('revoked', table.ask)];
  table.value = 'revoked';
  const after = Array.from({ length: 5 }, () => lookUpTogether('revoked', table.ask));
  for (const { finish } of table.asked) finish();
  await turn();
  for (const { finish } of table.asked) finish();
  expect(await Promise.all(before)).toEqual(['valid', 'valid']);
  expect(await Promise.all(after)).toEqual(new Array(5).fill('revoked'));
});

it('asks anew when the one who asked failed or was cut off', async () => {
  const table = new SlowTable();
  const cut = [lookUpTogether('cut', table.ask), lookUpTogether('cut', table.ask)];
  const waiting = Array.from({ length: 3 }, () => lookUpTogether('cut', table.ask));
  // Nothing ever ends the first two: those who wait give up on them.
  while (table.asked.length < 3) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const { finish } of table.asked.slice(2)) finish();
  expect(await Promise.all(waiting)).toEqual(new Array(3).fill('valid'));
  expect(cut).toHaveLength(2);

  const failing = new SlowTable();
  const calls = Promise.allSettled(Array.from({ length: 4 }, () => lookUpTogether('failing', failing.ask)));
  failing.asked[0]?.finish();
  await turn();
  failing.asked[2]?.finish(new Error('the database went away'));
  await turn();
  for (const { finish } of failing.asked) finish();
  const results = await calls;
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
});
