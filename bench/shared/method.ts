/** Runs the method of the benchmarks on its smallest case: the health route against a floor that only queries the same stores. */
import { compare } from './load.ts';
import { startPair } from './servers.ts';

export async function run(): Promise<void> {
  const { ours, floor, stop } = await startPair();
  try {
    const load = { connections: 16, seconds: 2 };
    await compare({
      name: 'GET /v1/health',
      floor: { ...load, url: `${floor.url}/health` },
      ours: { ...load, url: `${ours.url}/v1/health` },
      rounds: 5,
    });
  } finally {
    await stop();
  }
}
