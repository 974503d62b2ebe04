/** Runs work for each item, for at most `max` items at a time. @throws the first error of the work. */
export async function runInParallel<T>(
  items: readonly T[],
  max: number,
  run: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = [...items];
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: max }, work));
}
