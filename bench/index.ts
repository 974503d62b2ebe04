/**
 * `npm run bench -- storage|leaderboard|mail|processor|web` measures performance claims as ratios.
 *
 * Every benchmark uses the same method. Tessera and a floor run side by side under the same Miniflare on direct sockets. The
 * floor (`bench/floor/worker.js`) does the minimum with the same bindings and round trips. Short rounds of load alternate
 * between the two. The result is the ratio of each pair of adjacent rounds, which cancels drift of the machine. The benchmark
 * prints the median and the range of the ratios. It also prints absolute numbers, which depend on the machine.
 */
import { buildAll } from '../dev/local/build.ts';

const BENCHES: Readonly<Record<string, () => Promise<{ run(options: readonly string[]): Promise<void> }>>> = {
  method: () => import('./shared/method.ts'),
  storage: () => import('./storage/index.ts'),
  'storage-engine': () => import('./storage/engine.ts'),
  'storage-listing': () => import('./storage/listing.ts'),
  leaderboard: () => import('./leaderboard/index.ts'),
  mail: () => import('./mail/index.ts'),
  globe: () => import('./globe/index.ts'),
  processor: () => import('./processor/index.ts'),
  web: () => import('./web.ts'),
};

const [name = '', ...options] = process.argv.slice(2);
const load = BENCHES[name];
if (!load) {
  console.error(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')}`);
  process.exit(2);
}
buildAll();
await (await load()).run(options);
process.exit(0);
