/** `npm run bench -- leaderboard [index|http|board]`: the ordered index, the service over HTTP, a board of 25 million players. */
export async function run(options: readonly string[]): Promise<void> {
  const parts = {
    index: async () => (await import('./leaderboard-index.ts')).runIndex(),
    board: async () => (await import('./leaderboard-board.ts')).runBoard(),
    http: async () => (await import('./leaderboard-http.ts')).runHttp(),
  };
  for (const [name, part] of Object.entries(parts)) {
    if (options.length > 0 && !options.includes(name)) continue;
    console.log(`\n${name}`);
    await part();
  }
}
