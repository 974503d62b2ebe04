/** Measures the leaderboard over HTTP: single posts and batches against the floor, rank latency by player count, and a restart. */

import { applyLoad, compare, type Load, median } from '../shared/load.ts';
import { startPair } from '../shared/servers.ts';
import { makeToken } from './client.ts';

type Servers = Pick<Awaited<ReturnType<typeof startPair>>, 'ours' | 'floor'>;

const SHARDS = '4';

/** Lua script for wrk that posts scores. Each update is for a random player; `withEvent` adds a unique event id. */
const postScript = (token: string, players: number, { withEvent = true, batch = 0 } = {}) => `
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer ${token}"
math.randomseed(os.time())
local n = 0
local run = tostring(math.random(1e9))
local function update()
  n = n + 1
  local event = ${withEvent} and ',"event_id":"' .. run .. "-" .. n .. '"' or ""
  return '{"user_id":"player-' .. math.random(${players}) .. '","points":1' .. event .. '}'
end
request = function()
  if ${batch} == 0 then return wrk.format(nil, nil, nil, update()) end
  local updates = {}
  for i = 1, ${batch} do updates[i] = update() end
  return wrk.format(nil, nil, nil, '{"updates":[' .. table.concat(updates, ",") .. ']}')
end
`;

const getScript = (players: number) => `
math.randomseed(os.time())
request = function() return wrk.format("GET", "/v1/scores/player-" .. math.random(${players})) end
`;

export async function runHttp(): Promise<void> {
  const { ours, floor, restartOurs, stop } = await startPair({ LEADERBOARD_SHARDS: SHARDS });
  try {
    const token = await makeToken(ours.url);
    const post = (url: string, withEvent: boolean): Load => ({
      url,
      script: postScript(token, 20_000, { withEvent }),
      connections: 64,
      seconds: 2,
    });
    const oursUrl = `${ours.url}/v1/scores`;
    const name = 'POST /v1/scores';
    const rounds = 5;
    const same = { floor: post(`${floor.url}/score`, false), rounds, target: 0.8 };
    await compare({ ...same, name: `${name}, event id`, ours: post(oursUrl, true) });
    await compare({ ...same, name, ours: post(oursUrl, false) });
    const bare = { floor: post(`${floor.url}/score-bare`, false), rounds };
    await compare({ ...bare, name: `${name}, floor without credential`, ours: post(oursUrl, true) });
    await measureBatches({ ours, floor }, token, SHARDS);
    await measureRankLatency(ours.url, token);
    await measureStart(restartOurs);
  } finally {
    await stop();
  }
  for (const shards of ['1', '32']) {
    const other = await startPair({ LEADERBOARD_SHARDS: shards });
    try {
      await measureBatches(other, await makeToken(other.ours.url), shards);
    } finally {
      await other.stop();
    }
  }
}

const postBatch = async (url: string, token: string, updates: unknown[]) => {
  const response = await fetch(`${url}/v1/scores/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ updates }),
  });
  const { results } = (await response.json()) as { results: { status?: number }[] };
  if (results.some((result) => result.status !== undefined)) throw new Error(JSON.stringify(results[0]));
};

const BATCH = 100;

/** Numbers of concurrent connections that post batches. */
const BATCH_CONNECTIONS = [8, 32];

/**
 * Measures batches against two floors. Both make one call to one object and one transaction with event ids, without ranks.
 * One of them also looks up a credential, as Tessera does. If a floor misses the target too, the machine is too slow.
 */
async function measureBatches({ ours, floor }: Servers, token: string, shards: string): Promise<void> {
  const script = postScript(token, 20_000, { batch: BATCH });
  for (const connections of BATCH_CONNECTIONS) {
    const load = (url: string): Load => ({ url, script, connections, seconds: 2 });
    await measureBatchesOf(`batches of ${BATCH}, ${shards} shards, ${connections} at once`, {
      ours: load(`${ours.url}/v1/scores/batch`),
      floor: load(`${floor.url}/batch`),
      'floor without a credential': load(`${floor.url}/batch-bare`),
    });
  }
}

async function measureBatchesOf(name: string, sides: Readonly<Record<string, Load>>): Promise<void> {
  const measured = new Map<string, number[]>();
  let failures = 0;
  for (let round = 0; round < 6; round++) {
    for (const [side, load] of Object.entries(sides)) {
      const { requestsPerSecond, failures: failed } = await applyLoad(load);
      failures += failed;
      // The first round only warms up, so its rate is not recorded.
      if (round > 0) measured.set(side, [...(measured.get(side) ?? []), requestsPerSecond * BATCH]);
    }
  }
  const rates = [...measured].map(([side, all]) => {
    const spread = `${Math.round(Math.min(...all))}–${Math.round(Math.max(...all))}`;
    return `${side} ${Math.round(median(all))}/s (${spread})`;
  });
  const [own = [], ...floors] = measured.values();
  const ratios = floors.map((all) => median(own.map((rate, i) => rate / (all[i] ?? Number.NaN))).toFixed(2));
  const doubt = failures === 0 ? '' : `  ${failures} FAILED REQUESTS: result invalid`;
  console.log(
    `${name.padEnd(36)} ours/floor ${ratios.join(', ')}   updates: ${rates.join(', ')}  target 20000${doubt}`,
  );
}

async function measureRankLatency(url: string, token: string): Promise<void> {
  // Creates every player by batches from the first player on. The earlier random posts missed some players, whose rank would be
  // 404.
  let filled = 0;
  for (const players of [10_000, 100_000, 1_000_000]) {
    while (filled < players) {
      const batches = Array.from({ length: 4 }, () => {
        const updates = Array.from({ length: Math.min(1_000, Math.max(0, players - filled)) }, () => ({
          user_id: `player-${++filled}`,
          points: Math.floor(1_000 * Math.random() ** 3),
        }));
        return updates.length === 0 ? undefined : postBatch(url, token, updates);
      });
      await Promise.all(batches);
    }
    const load: Load = { url, script: getScript(players), connections: 1, seconds: 3 };
    await applyLoad({ ...load, seconds: 1 });
    const { p50Ms, p99Ms, failures, requestsPerSecond } = await applyLoad(load);
    const doubt = failures === 0 ? '' : `  ${failures} FAILED`;
    console.log(
      `${`rank among ${players.toLocaleString('en')} players`.padEnd(36)} p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, ${Math.round(requestsPerSecond)}/s${doubt}`,
    );
  }
}

/** Measures the first rank after a restart, for which every shard reads its rows and builds its index. */
async function measureStart(restart: () => Promise<string>): Promise<void> {
  const url = await restart();
  await fetch(`${url}/v1/health`);
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/scores/player-1`);
  const { user_info } = (await response.json()) as { user_info: { players: number } };
  const ms = Math.round(performance.now() - startedAt);
  console.log(
    `${'first rank after a restart'.padEnd(36)} ${ms} ms: ${SHARDS} shards on one thread index ${user_info.players.toLocaleString('en')} players`,
  );
}
