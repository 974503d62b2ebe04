import { expect, it } from 'vitest';
import { DOLLARS_MAX, describePrice, estimateTrial, MINUTES_MAX } from '../../../dev/trial/price.ts';

it('a trial costs at most two dollars and takes at most 30 minutes, and says so', () => {
  expect(estimateTrial()).toBeGreaterThan(0.01);
  expect(estimateTrial()).toBeLessThan(DOLLARS_MAX);
  expect([DOLLARS_MAX, MINUTES_MAX]).toEqual([2, 30]);
  expect(describePrice('tessera-trial4f9a02')).toMatch(
    /"tessera-trial4f9a02"[\s\S]*at most \$\d\.\d\d .*[\s\S]*25 minutes[\s\S]*Not tried in production/,
  );
});
