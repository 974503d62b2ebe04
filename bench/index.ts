/**
 * `npm run bench -- storage|leaderboard|mail`: measured claims, as ratios.
 *
 * The method, the same for every product: ours and a floor (`bench/floor/worker.js`: the least a Worker could do with
 * the same bindings and round trips) run side by side under the same Miniflare on direct sockets. Short rounds of load
 * alternate between the two, and what counts is the ratio of each pair of neighbouring rounds: the machine's own drift
 * falls out. The median and the spread of the ratios are printed; absolute numbers are printed too and mean little.
 */
import { buildAll } from '../dev/build.ts';

const BENCHES: Readonly<Record<string, () => Promise<{ run(options: readonly string[]): Promise<void> }>>> = {
  method: () => import('./method.ts'),
  storage: () => import('./storage.ts'),
  'storage-engine': () => import('./storage-engine.ts'),
  'storage-listing': () => import('./storage-listing.ts'),
  leaderboard: () => import('./leaderboard.ts'),
  mail: () => import('./mail.ts'),
};

const [name = '', ...options] = process.argv.slice(2);
const load = BENCHES[name];
if (!load) {
  console.error(`npm run bench -- ${Object.keys(BENCHES).join('|')}`);
  process.exit(2);
}
buildAll();
await (await load()).run(options);
process.exit(0);
