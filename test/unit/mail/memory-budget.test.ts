import { expect, test } from 'vitest';
import { MemoryBudget } from '../../../workers/mail/mime/memory-budget.ts';

const MB = 1024 * 1024;

test('small messages are looked into together, large ones one at a time, in the order they came', async () => {
  const budget = new MemoryBudget();
  let inside = 0;
  const peaks: Record<string, number> = {};
  const order: string[] = [];
  const look = (name: string, sizeBytes: number) =>
    budget.use(sizeBytes, async () => {
      inside += sizeBytes;
      order.push(name);
      await new Promise((resolve) => setTimeout(resolve, 30));
      peaks[name] = inside;
      inside -= sizeBytes;
    });
  await Promise.all([
    look('a', MB),
    look('b', MB),
    look('film', 70 * MB),
    look('c', MB),
    look('film 2', 30 * MB),
    look('d', MB),
  ]);
  expect(order).toEqual(['a', 'b', 'film', 'c', 'film 2', 'd']);
  expect(peaks.film).toBe(70 * MB);
  expect(Math.max(...Object.values(peaks))).toBe(70 * MB);
});

test('work that fails gives its place back', async () => {
  const budget = new MemoryBudget();
  for (let n = 0; n < 3; n += 1)
    await expect(budget.use(100 * MB, () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  expect(await budget.use(100 * MB, async () => 'done')).toBe('done');
});
