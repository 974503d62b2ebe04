import { expect, test } from 'vitest';
import { killMaintenance, WORK_NAMES } from '../../support/storage/kill.ts';

const KILLS = Number(process.env.KILLS ?? 4);

test.each(WORK_NAMES)('every acknowledged object survives kills during: %s', async (name) => {
  const outcome = await killMaintenance(name, KILLS);
  console.log(`kill -9 during ${name}: ${JSON.stringify(outcome)}`);
  expect(outcome).toMatchObject({ lost: 0, kills: KILLS });
});
