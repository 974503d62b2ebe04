import { test } from 'vitest';
import { checkModel } from './model.ts';

test('random actions on a bucket match a list in memory', async () => {
  await checkModel(6, 15, Math.floor(Math.random() * 2 ** 31));
});
