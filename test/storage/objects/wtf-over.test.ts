import { beforeEach, describe, expect, test } from 'vitest';
import { runBackgroundCase, WORKS } from './background-ring.ts';
import { wipe } from './harness.ts';
beforeEach(wipe);
describe.each(Object.keys(WORKS))('%s', (work) => {
  test.each(['overtaken before', 'overtaken after'] as const)('%s', async (how) => {
    let failures: string[] = [];
    let at = 0;
    for (; ; at++) {
      try {
        if (!(await runBackgroundCase({ work, how, at, hasClients: at % 3 === 0 })).isHit) break;
      } catch (error) { failures.push(`${at}: ${String((error as Error).message).slice(0, 1500)}`); }
      await wipe();
      if (failures.length > 4) break;
    }
    console.log(work, how, at);
    expect(failures).toEqual([]);
  }, 3_600_000);
});
