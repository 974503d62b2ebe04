import { expect, test } from 'vitest';
import { killStorage } from '../support/storage-kill.ts';

test('every acknowledged object survives a power cut', async () => {
  const outcome = await killStorage(1);
  expect(outcome.acknowledged).toBeGreaterThan(0);
}, 300_000);
