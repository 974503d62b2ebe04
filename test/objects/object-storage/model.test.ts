import { test } from 'vitest';
import { checkModel } from './model.ts';

test('random actions on a bucket do what a list in memory does', async () => {
  await checkModel(6, 15, Math.floor(Math.random() * 2 ** 31));
});
