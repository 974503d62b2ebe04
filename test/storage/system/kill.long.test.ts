import { expect, test } from 'vitest';
import { killStorage } from '../../support/storage/kill.ts';

const KILLS = Number(process.env.KILLS ?? 20);

test('every acknowledged object survives power cuts, with its lock, its event and exact counts', async () => {
  const outcome = await killStorage(KILLS);
  console.log(`object storage under kill -9: ${JSON.stringify(outcome)}`);
  expect(outcome).toMatchObject({ lost: 0, kills: KILLS });
});
