/** Measures posts to boards with many different scores, beside a board with forty, in one run on 32 shards. */

import type { Load } from '../shared/load.ts';
import { startPair } from '../shared/servers.ts';
import { makeToken } from './client.ts';
import { createBoard, fill, getScript, measure, postScript, print } from './rounds.ts';

const SHARDS = '32';

/** A board's scores: in JavaScript to fill it, and as a Lua expression for the posts that are measured. */
interface Shape {
  readonly sort: 'asc' | 'desc';
  readonly scoreOf: () => number;
  readonly lua: string;
}

const below = (max: number) => Math.floor(Math.random() * max);

const SHAPES: Readonly<Record<string, Shape>> = {
  forty: { sort: 'desc', scoreOf: () => below(40), lua: 'math.random(0, 39)' },
  'million-all-over': { sort: 'desc', scoreOf: () => below(4e9), lua: 'math.random(0, 2000000000) * 2' },
  'million-near-a-billion': {
    sort: 'desc',
    scoreOf: () => 1e9 + below(2 ** 20),
    lua: '1000000000 + math.random(0, 1048575)',
  },
  'million-lap-times': { sort: 'asc', scoreOf: () => 60_000 + below(2 ** 20), lua: '60000 + math.random(0, 1048575)' },
  'one-for-all': { sort: 'desc', scoreOf: () => 7, lua: '7' },
};

export async function runWide(): Promise<void> {
  const players = Number(process.env.PLAYERS ?? 1_000_000);
  const { ours, stop } = await startPair({ LEADERBOARD_SHARDS: SHARDS });
  try {
    const token = await makeToken(ours.url);
    for (const [name, { sort, scoreOf }] of Object.entries(SHAPES)) {
      await createBoard(ours.url, name, sort);
      await fill({ url: ours.url, token, path: `/v1/boards/${name}`, players, scoreOf });
    }
    const loadsOf = (connections: number, scriptOf: (name: string) => string) =>
      Object.fromEntries(
        Object.keys(SHAPES).map((name): [string, Load] => [
          name,
          { url: `${ours.url}/v1/boards/${name}/scores`, script: scriptOf(name), connections, seconds: 3 },
        ]),
      );
    for (const connections of [16, 256]) {
      const scriptOf = (name: string) => postScript(token, players, (SHAPES[name] as Shape).lua);
      print(`posts at ${connections}`, await measure(loadsOf(connections, scriptOf)));
    }
    print('ranks at 16', await measure(loadsOf(16, (name) => getScript(`/v1/boards/${name}/scores/`, players))));
  } finally {
    await stop();
  }
}
