/** The order in which a cron run does the work of the products. */
import { expect, it } from 'vitest';
import { work as identityWork } from '../../../workers/identity/work.ts';
import { runSchedules } from '../../../workers/shared/background.ts';
import type { Product, ProductWork } from '../../../workers/shared/product.ts';

const env = {} as Env;
const controller = { cron: '* * * * *' } as ScheduledController;
const ctx = {} as ExecutionContext;

/** Runs schedules that note their names; those called `broken` fail. */
async function orderOf(...all: readonly { readonly [Kind in 'schedules' | 'slowSchedules']?: readonly string[] }[]) {
  const ran: string[] = [];
  const toSchedules = (names: readonly string[] = []): NonNullable<ProductWork['schedules']> =>
    Object.fromEntries(
      names.map((name) => [
        name,
        async () => {
          ran.push(name);
          if (name === 'broken') throw new Error('the schedule is broken');
        },
      ]),
    );
  const products = all.map(
    ({ schedules, slowSchedules }): Product => ({
      name: 'identity',
      load: () => Promise.reject(new Error('cron needs no API')),
      work: async () => ({ schedules: toSchedules(schedules), slowSchedules: toSchedules(slowSchedules) }),
    }),
  );
  await runSchedules(products, controller, env, ctx);
  return ran;
}

it('runs slow schedules after the schedules of all products', async () => {
  expect(await orderOf({ schedules: ['a'], slowSchedules: ['slow'] }, { schedules: ['b', 'c'] })).toEqual([
    'a',
    'b',
    'c',
    'slow',
  ]);
});

it('runs the others after a schedule that fails', async () => {
  expect(await orderOf({ schedules: ['broken', 'a'], slowSchedules: ['slow'] })).toEqual(['broken', 'a', 'slow']);
});

it('takes the pass over the S3 location as slow, because it may take most of a minute', () => {
  expect(Object.keys(identityWork.slowSchedules ?? {})).toEqual(['s3_location']);
  expect(Object.keys(identityWork.schedules ?? {})).not.toContain('s3_location');
});
