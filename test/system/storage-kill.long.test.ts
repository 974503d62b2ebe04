import { expect, test } from 'vitest';
import { killStorage } from '../support/storage-kill.ts';

test('every acknowledged object survives 20 power cuts', async () => {
  const outcome = await killStorage(20);
  console.log(`object storage under kill -9: ${JSON.stringify(outcome)}`);
  expect(outcome).toMatchObject({ lost: 0, kills: 20 });
});
