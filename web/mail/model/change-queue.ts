/**
 * Sends changes to the server one at a time and in order, so that an undo never overtakes the change it reverts. Code
 * that reads the list compares `changeCount` before and after, to learn whether the answer is outdated.
 */
let last: Promise<unknown> = Promise.resolve();
let count = 0;

/** Increases when a change is queued and when it ends. */
export const changeCount = (): number => count;

/** Resolves when all changes queued so far have ended. */
export const changesSettled = (): Promise<unknown> => last;

export function queueChange<T>(change: () => Promise<T>): Promise<T> {
  count += 1;
  const queued = last.then(change).finally(() => {
    count += 1;
  });
  last = queued.catch(() => undefined);
  return queued;
}
