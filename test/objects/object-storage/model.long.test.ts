import { test } from 'vitest';
import { checkModel } from './model.ts';

test('many random actions on a bucket do what a list in memory does', async () => {
  await checkModel(250, 30, Math.floor(Math.random() * 2 ** 31));
});
