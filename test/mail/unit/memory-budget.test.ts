import { expect, test } from 'vitest';
import { MemoryBudget } from '../../../workers/mail/mime/memory-budget.ts';

const MB = 1024 * 1024;

test('small messages are processed together, large ones one at a time, in order of arrival', async () => {
  const budget = new MemoryBudget();
  let inside = 0;
  const peaks: Record<string, number> = {};
  const order: string[] = [];
  const run = (name: string, sizeBytes: number) =>
    budget.use(sizeBytes, async () => {
      inside += sizeBytes;
      order.push(name);
      await new Promise((resolve) => setTimeout(resolve, 30));
      peaks[name] = inside;
      inside -= sizeBytes;
    });
  await Promise.all([
    run('a', MB),
    run('b', MB),
    run('film', 70 * MB),
    run('c', MB),
    run('film 2', 30 * MB),
    run('d', MB),
  ]);
  expect(order).toEqual(['a', 'b', 'film', 'c', 'film 2', 'd']);
  expect(peaks.film).toBe(70 * MB);
  expect(Math.max(...Object.values(peaks))).toBe(70 * MB);
});

test('failed work releases its memory', async () => {
  const budget = new MemoryBudget();
  for (let n = 0; n < 3; n += 1)
    await expect(budget.use(100 * MB, () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  expect(await budget.use(100 * MB, async () => 'done')).toBe('done');
});
