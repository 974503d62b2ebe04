import { test } from 'vitest';
import { checkModel } from './model.ts';

test('random actions on a bucket match a list in memory, in a long run', async () => {
  await checkModel(250, 30, Math.floor(Math.random() * 2 ** 31));
});
