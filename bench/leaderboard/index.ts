/**
 * `npm run bench -- leaderboard [index|board|http|wide|ratios|end|rate|viewers]`: the ordered index, a board of 25 million players, the service over HTTP, boards with many
 * different scores, a steady rate beside Redis, live viewers.
 */
export async function run(options: readonly string[]): Promise<void> {
  const parts = {
    index: async () => (await import('./ordered-index.ts')).runIndex(),
    board: async () => (await import('./board.ts')).runBoard(),
    http: async () => (await import('./http.ts')).runHttp(),
    wide: async () => (await import('./wide.ts')).runWide(),
    ratios: async () => (await import('./ratios.ts')).runRatios(),
    end: async () => (await import('./season-end.ts')).runSeasonEnd(),
    rate: async () => (await import('./rate.ts')).runRate(),
    viewers: async () => (await import('./viewers.ts')).runViewers(),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (options.length > 0 && !options.includes(name)) continue;
    console.log(`\n${name}`);
    await part();
  }
}
