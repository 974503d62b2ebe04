/**
 * Measures the ordered index in a separate process, which `bench/leaderboard/ordered-index.ts` starts. In a shared process, memory that
 * other code freed would hide its use. `node bench/leaderboard/ordered-index-alone.ts <players>` prints one line of JSON: updates and
 * ranks per second, bytes per player.
 */
import { OrderedIndex } from '../../durable-objects/leaderboard/domain/ordered-index.ts';
import { collectGarbage, residentBytes } from '../shared/resident-memory.ts';

const OPERATIONS = 300_000;
const players = Number(process.argv[2]);

/** Test data like random wins of one month: many players have few wins, few players have many. */
const firstScore = () => Math.floor(300 * Math.random() ** 3);
const rate = (startedAt: number) => OPERATIONS / ((performance.now() - startedAt) / 1000);

collectGarbage();
const before = residentBytes('self');
const index = new OrderedIndex();
let reached = Date.now() * 1000;
for (let slot = 0; slot < players; slot++) index.set(slot, firstScore(), reached++);
collectGarbage();
const bytes = (residentBytes('self') - before) / players;

const slots = Uint32Array.from({ length: OPERATIONS }, () => Math.random() * players);
let startedAt = performance.now();
for (const slot of slots) index.set(slot, index.scoreOf(slot) + 1, reached++);
const updates = rate(startedAt);
startedAt = performance.now();
let sum = 0;
for (const slot of slots) sum += index.countAbove(index.scoreOf(slot));
const ranks = rate(startedAt);
if (sum < 0) throw new Error('ranks count from 1');
console.log(JSON.stringify({ updates, ranks, bytes }));
