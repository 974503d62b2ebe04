/** `npm run bench -- leaderboard [index|board|http|rate|viewers]`: the ordered index, a board of 25 million players, the service over HTTP, a steady rate beside Redis, live viewers. */
export async function run(options: readonly string[]): Promise<void> {
  const parts = {
    index: async () => (await import('./leaderboard-index.ts')).runIndex(),
    board: async () => (await import('./leaderboard-board.ts')).runBoard(),
    http: async () => (await import('./leaderboard-http.ts')).runHttp(),
    rate: async () => (await import('./leaderboard-rate.ts')).runRate(),
    viewers: async () => (await import('./leaderboard-viewers.ts')).runViewers(),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (options.length > 0 && !options.includes(name)) continue;
    console.log(`\n${name}`);
    await part();
  }
}
