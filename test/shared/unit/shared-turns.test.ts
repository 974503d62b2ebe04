import { expect, it } from 'vitest';
import { SharedTurns } from '../../../workers/shared/concurrency/shared-turns.ts';

/** Whether a step ran before the event loop turned over a few times, without waiting for anybody. */
async function isAtOnce(step: Promise<void>): Promise<boolean> {
  let isDone = false;
  void step.then(() => {
    isDone = true;
  });
  await Promise.resolve().then(() => {});
  await Promise.resolve();
  return isDone;
}

it('a step waits while an account with fewer requests has one, and goes on when it ends', async () => {
  const turns = new SharedTurns();
  const ends = [turns.begin('loud'), turns.begin('loud')];
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

it('accounts with as many requests do not wait for each other, and a step waits for a short time only', async () => {
  const turns = new SharedTurns();
  turns.begin('a');
  turns.begin('b');
  expect(await isAtOnce(turns.giveWay('a'))).toBe(true);
  turns.begin('a');
  // This ends, although the request of b never does.
  await turns.giveWay('a');
});

it('ending a request twice ends no other', async () => {
  const turns = new SharedTurns();
  turns.begin('loud');
  turns.begin('loud');
  turns.begin('loud');
  const end = turns.begin('quiet');
  turns.begin('quiet');
  end();
  end();
  expect(await isAtOnce(turns.giveWay('loud'))).toBe(false);
});
