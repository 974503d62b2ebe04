import { expect, it } from 'vitest';
import { SharedTurns } from '../../../workers/shared/concurrency/shared-turns.ts';

const FLOOD_REQUESTS = 4;

/** Whether a step ran without waiting for a timer. */
async function isAtOnce(step: Promise<void>): Promise<boolean> {
  let isDone = false;
  void step.then(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  return isDone;
}
const begin = (turns: SharedTurns, account: string, count: number) =>
  Array.from({ length: count }, () => turns.begin(account));

it('a step of a flood waits while an account with fewer requests has one, and continues when it ends', async () => {
  const turns = new SharedTurns();
  const ends = begin(turns, 'loud', FLOOD_REQUESTS);
  expect(await isAtOnce(turns.giveWay('loud'))).toBe(true);
  const endQuiet = turns.begin('quiet');
  expect(await isAtOnce(turns.giveWay('quiet'))).toBe(true);
  const step = turns.giveWay('loud');
  expect(await isAtOnce(step)).toBe(false);
  endQuiet();
  await step;
  expect(await isAtOnce(turns.giveWay('loud'))).toBe(true);
  for (const end of ends) end();
});

it('an account with few requests never waits', async () => {
  const turns = new SharedTurns();
  begin(turns, 'a', FLOOD_REQUESTS - 1);
  begin(turns, 'b', 1);
  expect(await isAtOnce(turns.giveWay('a'))).toBe(true);
});

it('accounts with as many requests do not wait for each other, and a step waits for a short time only', async () => {
  const turns = new SharedTurns();
  begin(turns, 'a', FLOOD_REQUESTS);
  begin(turns, 'b', FLOOD_REQUESTS);
  expect(await isAtOnce(turns.giveWay('a'))).toBe(true);
  turns.begin('a');
  // This ends, although the requests of b never do.
  await turns.giveWay('a');
});

it('ending a request twice ends no other', async () => {
  const turns = new SharedTurns();
  begin(turns, 'loud', FLOOD_REQUESTS);
  const end = turns.begin('quiet');
  turns.begin('quiet');
  end();
  end();
  expect(await isAtOnce(turns.giveWay('loud'))).toBe(false);
});
