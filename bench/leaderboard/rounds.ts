/** Boards that are filled over HTTP, and loads that are applied to them in turns. */
import { applyLoad, type Load, median } from '../shared/load.ts';
import { listChildren, readCpuMs } from '../shared/processes.ts';
import { BENCH_ROOT_TOKEN } from '../shared/servers.ts';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const BATCH = 1_000;
const BATCHES_AT_ONCE = 4;

/** Lua script for wrk that posts scores of random players. @param points Lua expression of the points */
export const postScript = (token: string, players: number, points: string) => `
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer ${token}"
math.randomseed(os.time())
request = function()
  local points = string.format("%d", ${points})
  return wrk.format(nil, nil, nil, '{"user_id":"player-' .. math.random(${players}) .. '","points":' .. points .. '}')
end
`;

/** Lua script for wrk that reads random players. @param path path before the user id */
export const getScript = (path: string, players: number) => `
math.randomseed(os.time())
request = function() return wrk.format("GET", "${path}player-" .. math.random(${players})) end
`;

export async function send(url: string, method: string, token: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}

/** A board to fill. */
interface Filling {
  readonly url: string;
  readonly token: string;
  /** Path of the board: `/v1` or `/v1/boards/NAME`. */
  readonly path: string;
  readonly players: number;
  readonly scoreOf: () => number;
}

/** Fills a board by batches. */
export async function fill({ url, token, path, players, scoreOf }: Filling): Promise<void> {
  const startedAt = performance.now();
  let next = 1;
  const work = async () => {
    while (next <= players) {
      const from = next;
      next += BATCH;
      const updates = Array.from({ length: Math.min(BATCH, players - from + 1) }, (_, i) => {
        return { user_id: `player-${from + i}`, points: scoreOf() };
      });
      await send(`${url}${path}/scores/batch`, 'POST', token, { updates });
    }
  };
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, work));
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${path.padEnd(36)} filled with ${players.toLocaleString('en')} players in ${seconds.toFixed(1)} s`);
}

/** Creates a board with the operator `last`, which makes posts of any score. */
export async function createBoard(url: string, name: string, sort: 'asc' | 'desc'): Promise<void> {
  const rules = { title: name, sort, operator: 'last', period: 'none', public: true, max_points_per_post: 2 ** 32 - 1 };
  await send(`${url}/v1/boards/${name}`, 'PUT', BENCH_ROOT_TOKEN, rules);
}

interface Measured {
  readonly rates: number[];
  readonly cpuMs: number[];
  failures: number;
}

/** Applies loads in turns. The first round only warms up. */
export async function measure(loads: Readonly<Record<string, Load>>): Promise<Record<string, Measured>> {
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

export function print(what: string, measured: Readonly<Record<string, Measured>>): void {
  const [base] = Object.values(measured);
  for (const [name, { rates, cpuMs, failures }] of Object.entries(measured)) {
    const ratio = median(rates.map((rate, i) => rate / (base?.rates[i] ?? Number.NaN)));
    const times = median(cpuMs) / median(base?.cpuMs ?? []);
    const doubt = failures === 0 ? '' : `  ${failures} FAILED REQUESTS: result invalid`;
    console.log(
      `${`${what}, ${name}`.padEnd(44)} ${median(rates).toFixed(0)}/s, ratio ${ratio.toFixed(2)}, ${median(cpuMs).toFixed(2)} ms of processor time (${times.toFixed(2)} times)${doubt}`,
    );
  }
}
