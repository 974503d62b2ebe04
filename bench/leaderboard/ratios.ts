/**
 * The leaderboard beside a bare Worker with one call to an object: single posts at 16 and 256 connections on `default` and on a board with a
 * million different scores, and ranks. All are in one run, on as many shards (`SHARDS`, 32). The floor commits one row per post. `PLAYERS`
 * (a million) and `ROUNDS` (5, of 3 seconds each) make a shorter run.
 */
import type { Load } from '../shared/load.ts';
import { startPair } from '../shared/servers.ts';
import { makeToken } from './client.ts';
import { createBoard, fill, getScript, measure, postScript, print } from './rounds.ts';

const SHARDS = process.env.SHARDS ?? '32';
const PLAYERS = Number(process.env.PLAYERS ?? 1_000_000);
const DEFAULT_PLAYERS = Math.min(PLAYERS, 100_000);
const SECONDS = 3;
const WIDE = 'wide';
const SCORES = 4e9;

export async function runRatios(): Promise<void> {
  const { ours, floor, stop } = await startPair({ LEADERBOARD_SHARDS: SHARDS });
  try {
    const token = await makeToken(ours.url);
    await createBoard(ours.url, WIDE, 'desc');
    await fill({
      url: ours.url,
      token,
      path: '/v1',
      players: DEFAULT_PLAYERS,
      scoreOf: () => 1 + Math.floor(Math.random() * 40),
    });
    await fill({
      url: ours.url,
      token,
      path: `/v1/boards/${WIDE}`,
      players: PLAYERS,
      scoreOf: () => Math.floor(Math.random() * SCORES),
    });
    const wide = `${ours.url}/v1/boards/${WIDE}/scores`;
    for (const connections of [16, 256]) {
      const load = (url: string, players: number, points: string): Load => {
        return { url, script: postScript(token, players, points), connections, seconds: SECONDS };
      };
      const loads = {
        floor: load(`${floor.url}/score-bare`, DEFAULT_PLAYERS, '1'),
        'default (target 0.7, 1.4 times the time)': load(`${ours.url}/v1/scores`, DEFAULT_PLAYERS, '1'),
        'wide (target 0.5)': load(wide, PLAYERS, 'math.random(0, 2000000000) * 2'),
      };
      print(`posts at ${connections}`, await measure(loads));
    }
    const read = (url: string, path: string, players: number): Load => {
      return { url, script: getScript(path, players), connections: 16, seconds: SECONDS };
    };
    const ranks = {
      floor: read(floor.url, '/player?id=', DEFAULT_PLAYERS),
      'default (target 0.6)': read(ours.url, '/v1/scores/', DEFAULT_PLAYERS),
      wide: read(ours.url, `/v1/boards/${WIDE}/scores/`, PLAYERS),
    };
    print('ranks at 16', await measure(ranks));
  } finally {
    await stop();
  }
}
