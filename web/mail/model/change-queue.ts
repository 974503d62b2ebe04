/**
 * Changes go to the server one after the other, in the order in which they were made: an undo never overtakes what it undoes.
 * Whoever reads the list knows by `changeCount` whether the answer is older than what is shown already.
 */
let last: Promise<unknown> = Promise.resolve();
let count = 0;

/** Grows when a change begins and when it ends. */
export const changeCount = (): number => count;

/** Resolves when the server knows of all changes that were made until now. */
export const changesTold = (): Promise<unknown> => last;

export function tellInOrder<T>(change: () => Promise<T>): Promise<T> {
  count += 1;
  const told = last.then(change).finally(() => {
    count += 1;
  });
  last = told.catch(() => undefined);
  return told;
}
