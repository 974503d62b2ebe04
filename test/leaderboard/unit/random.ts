/** A small seeded generator (mulberry32). The same seed gives the same run. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Prints the seed of a random test. `SEED` in the environment repeats a run. */
export function announceSeed(): number {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
  console.log(`SEED=${seed}`);
  return seed;
}

/** Returns the number of steps of a random test. During mutation tests it is a twentieth, because each mutant repeats the test. */
export const stepsOf = (steps: number): number => (process.env.TESSERA_MUTANTS === '1' ? Math.ceil(steps / 20) : steps);
