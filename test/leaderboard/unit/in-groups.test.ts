import { expect, it } from 'vitest';
import { fillOpen, inGroups, inParallelGroups } from '../../../workers/leaderboard/domain/in-groups.ts';
import { announceSeed, createRandom } from './random.ts';

it('gives the results of groups in the order of the items', async () => {
  const random = createRandom(announceSeed());
  for (let round = 0; round < 50; round++) {
    const items = Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 100));
    const groupsSeen: number[][] = [];
    const work = async (group: readonly number[], key: number) => {
      groupsSeen.push([...group]);
      // Groups end in another order than they begin.
      for (let turn = 0; turn < (7 * key) % 5; turn++) await Promise.resolve();
      return group.map((item) => `${key}:${item}`);
    };
    const expected = items.map((item) => `${item % 5}:${item}`);
    expect(await inGroups(items, (item) => item % 5, work)).toEqual(expected);
    expect(await inParallelGroups(items, (item) => item % 5, work)).toEqual(expected);
    for (const group of groupsSeen) expect(group).toEqual(items.filter((item) => item % 5 === (group[0] ?? 0) % 5));
  }
});

it('leaves only the open items to the next step', async () => {
  const asked: number[][] = [];
  const work = async (open: readonly number[]) => {
    asked.push([...open]);
    return open.map((item) => item * 10);
  };
  expect(await fillOpen([1, 2, 3, 4], [null, 0, null, 7], work)).toEqual([10, 0, 30, 7]);
  expect(await fillOpen([1, 2], [5, 6], work)).toEqual([5, 6]);
  expect(asked).toEqual([[1, 3]]);
});

it('works on one group after the other', async () => {
  let running = 0;
  await inGroups(
    [1, 2, 3, 4],
    (item) => item,
    async (group) => {
      expect(++running).toBe(1);
      await Promise.resolve();
      running--;
      return group;
    },
  );
});
