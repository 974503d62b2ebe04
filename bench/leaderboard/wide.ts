/** Measures posts to boards with many different scores, beside a board with forty, in one run on 32 shards. */

import { applyLoad, type Load, median } from '../shared/load.ts';
import { BENCH_ROOT_TOKEN, startPair } from '../shared/servers.ts';
import { listChildren, makeToken, readCpuMs } from './client.ts';

const SHARDS = '32';
const ROUNDS = 5;
const BATCH = 1_000;

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

const postScript = (token: string, players: number, points: string) => `
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer ${token}"
math.randomseed(os.time())
request = function()
  local points = string.format("%d", ${points})
  return wrk.format(nil, nil, nil, '{"user_id":"player-' .. math.random(${players}) .. '","points":' .. points .. '}')
end
`;

const getScript = (board: string, players: number) => `
math.randomseed(os.time())
request = function() return wrk.format("GET", "/v1/boards/${board}/scores/player-" .. math.random(${players})) end
`;

async function send(url: string, method: string, token: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}

/** Creates a board and fills it by batches. */
async function fill(url: string, token: string, name: string, players: number): Promise<void> {
  const { sort, scoreOf } = SHAPES[name] as Shape;
  const rules = { title: name, sort, operator: 'last', period: 'none', public: true, max_points_per_post: 2 ** 32 - 1 };
  await send(`${url}/v1/boards/${name}`, 'PUT', BENCH_ROOT_TOKEN, rules);
  const startedAt = performance.now();
  for (let from = 1; from <= players; from += BATCH) {
    const updates = Array.from({ length: Math.min(BATCH, players - from + 1) }, (_, i) => {
      return { user_id: `player-${from + i}`, points: scoreOf() };
    });
    await send(`${url}/v1/boards/${name}/scores/batch`, 'POST', token, { updates });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${name.padEnd(24)} filled with ${players.toLocaleString('en')} players in ${seconds.toFixed(1)} s`);
}

interface Measured {
  readonly rates: number[];
  readonly cpuMs: number[];
  failures: number;
}

/** Applies loads in turns. The first round only warms up. */
async function measure(loads: Readonly<Record<string, Load>>): Promise<Record<string, Measured>> {
  const all: Record<string, Measured> = {};
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, load] of Object.entries(loads)) {
      const before = readCpuMs(listChildren());
      const { requestsPerSecond, failures } = await applyLoad(load);
      const cpuMs = readCpuMs(listChildren()) - before;
      all[name] ??= { rates: [], cpuMs: [], failures: 0 };
      all[name].failures += failures;
      if (round === 0) continue;
      all[name].rates.push(requestsPerSecond);
      all[name].cpuMs.push(cpuMs / (requestsPerSecond * load.seconds));
    }
  }
  return all;
}

function print(what: string, measured: Readonly<Record<string, Measured>>): void {
  const [base] = Object.values(measured);
  for (const [name, { rates, cpuMs, failures }] of Object.entries(measured)) {
    const ratio = median(rates.map((rate, i) => rate / (base?.rates[i] ?? Number.NaN)));
    const doubt = failures === 0 ? '' : `  ${failures} FAILED REQUESTS: result invalid`;
    console.log(
      `${`${what}, ${name}`.padEnd(44)} ${median(rates).toFixed(0)}/s, ratio ${ratio.toFixed(2)}, ${median(cpuMs).toFixed(2)} ms of processor time${doubt}`,
    );
  }
}

export async function runWide(): Promise<void> {
  const players = Number(process.env.PLAYERS ?? 1_000_000);
  const { ours, stop } = await startPair({ LEADERBOARD_SHARDS: SHARDS });
  try {
    const token = await makeToken(ours.url);
    for (const name of Object.keys(SHAPES)) await fill(ours.url, token, name, players);
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
    print('ranks at 16', await measure(loadsOf(16, (name) => getScript(name, players))));
  } finally {
    await stop();
  }
}
